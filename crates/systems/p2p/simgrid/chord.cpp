// Chord in SimGrid: the protocol of parades_p2p::chord (see its documentation) without churn, with the same periods.
//
// A node has one mailbox, of which it is the permanent receiver, so that messages travel as soon as they are sent; one receive is kept posted. What
// is random differs from the other program's, and nothing else does.
//
// Usage: chord NODES SECONDS precise|constant [SEED] [SimGrid's own options]

#include <simgrid/s4u.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr unsigned BITS = 24;
constexpr uint32_t MASK = (1U << BITS) - 1;
constexpr uint32_t FIRST = 42;
constexpr unsigned BACKUPS = 3;
constexpr uint16_t HOPS_OUTSIDE_MAX = 255;
constexpr uint64_t MESSAGE_BYTES = 10;
constexpr double STABILISE = 20, FIX_FINGERS = 120, CHECK_PREDECESSOR = 120, LOOK_UP = 10, IDLE = 5, TIMEOUT = 50;
constexpr double LATENCY = 600e-6; // of the constant network
constexpr std::array<double, 4> PERIODS = {STABILISE, FIX_FINGERS, CHECK_PREDECESSOR, LOOK_UP};

uint32_t after(uint32_t id, uint32_t distance) { return (id + distance) & MASK; }
uint32_t distance(uint32_t from, uint32_t to) { return (to - from) & MASK; }
// Whether `id` lies after `from` and not after `to`; all do if the two are the same.
bool is_in(uint32_t id, uint32_t from, uint32_t to) {
  return ((distance(from, id) - 1) & MASK) <= ((distance(from, to) - 1) & MASK);
}
bool is_between(uint32_t id, uint32_t from, uint32_t to) { return id != to && id != from && is_in(id, from, to); }
unsigned log2_of(uint32_t x) { return 31U - static_cast<unsigned>(__builtin_clz(x)); }

enum class Kind : uint8_t { Find, Found, Join, Joined, GetPredecessor, Predecessor, Notify, Ping, Pong };

struct Message {
  Kind kind;
  bool in_ring = false;
  bool known = false;                          // Predecessor: whether there is one
  uint16_t hops = 0;
  uint32_t ticket = 0;
  uint32_t asker = 0;                          // Find, GetPredecessor, Ping; the newcomer of Join; who notifies
  uint32_t id = 0;                             // the key of Find; the successor of Found; the predecessor of Joined and Predecessor
  std::array<uint32_t, BACKUPS> successors{};  // Joined, Predecessor
};

enum class Phase { Outside, Joining, Member };

struct Totals {
  uint64_t messages = 0, timeouts = 0, look_ups = 0, failed = 0, wrong = 0, hops = 0;
};

std::unordered_map<uint32_t, sg4::Mailbox*> mailboxes;
std::vector<uint32_t> ids;  // by number of the node
std::vector<uint32_t> all;  // in order
Totals totals;
double settled = 300;

uint32_t owner(uint32_t key) {
  auto found = std::lower_bound(all.begin(), all.end(), key);
  return found == all.end() ? all.front() : *found;
}

class Peer {
public:
  uint32_t id, known;
  Phase phase = Phase::Outside;
  bool has_predecessor = false;
  uint32_t predecessor = 0;
  std::array<uint32_t, BACKUPS + 1> successors;
  std::array<uint32_t, BITS> fingers;

  Peer(uint32_t own, uint32_t first_known, uint64_t seed) : id(own), known(first_known), random(seed ^ own * 0x9E3779B97F4A7C15ULL) {
    successors.fill(id);
    fingers.fill(id);
  }

  // What a node does from its beginning to its end.
  void run() {
    mailbox = mailboxes[id];
    mailbox->set_receiver(sg4::Actor::self());
    post();
    std::array<double, 4> due;
    for (unsigned task = 0; task < 4; task++)
      due[task] = now() + PERIODS[task];
    join();
    while (true) {
      while (Received received = try_receive())
        serve(*received);
      unsigned task = 0;
      while (task < 4 && due[task] > now())
        task++;
      switch (task) {
        case 0: stabilise(); break;
        case 1: fix_a_finger(); break;
        case 2: check_predecessor(); break;
        case 3: look_up(); break;
        default: sg4::this_actor::sleep_for(IDLE); continue;
      }
      due[task] = now() + PERIODS[task];
    }
  }

private:
  using Received = std::unique_ptr<Message>;

  std::mt19937_64 random;
  sg4::Mailbox* mailbox = nullptr;
  sg4::CommPtr receive;
  Message* arrived = nullptr;
  unsigned next_finger = 0;
  uint32_t ticket = 0;

  static double now() { return sg4::Engine::get_clock(); }
  void post() { receive = mailbox->get_async<Message>(&arrived); }

  Received try_receive() {
    if (!receive->test())
      return nullptr;
    Received received(std::exchange(arrived, nullptr));
    post();
    return received;
  }

  // Waits for a message for so long.
  Received receive_within(double patience) {
    if (patience <= 0)
      return try_receive();
    try {
      receive->wait_for(patience);
    } catch (const simgrid::TimeoutException&) {
      post();
      return nullptr;
    }
    Received received(std::exchange(arrived, nullptr));
    post();
    return received;
  }

  void send(uint32_t to, const Message& message) {
    totals.messages++;
    mailboxes[to]->put_init(new Message(message), MESSAGE_BYTES)->detach();
  }

  uint32_t successor() const { return successors[0]; }

  void set_successors(uint32_t first, const uint32_t* others, unsigned count) {
    successors.fill(id);
    successors[0] = first;
    for (unsigned i = 0; i < count && i < BACKUPS && others[i] != id && others[i] != first; i++)
      successors[i + 1] = others[i];
    uint32_t far = distance(id, first);
    if (far > 0)
      std::fill(fingers.begin(), fingers.begin() + log2_of(far) + 1, first);
  }

  void insert(uint32_t newcomer) {
    auto others = successors;
    unsigned skip = others[0] == newcomer ? 1 : 0;
    set_successors(newcomer, others.data() + skip, BACKUPS + 1 - skip);
  }

  // The successor of a key, if it is known here; else whom to ask.
  bool is_here(uint32_t key, uint32_t& who) const {
    if (key == id) {
      who = id;
      return true;
    }
    if (is_in(key, id, successor())) {
      who = successor();
      return true;
    }
    uint32_t far = distance(id, key);
    unsigned highest = far == 1 ? 0 : log2_of(far - 1) + 1;
    for (unsigned k = highest; k-- > 0;) {
      uint32_t to_finger = distance(id, fingers[k]);
      if (to_finger > 0 && to_finger < far) {
        who = fingers[k];
        return false;
      }
    }
    who = successor();
    return false;
  }

  void serve(const Message& m) {
    if (phase != Phase::Member) {
      if (m.kind == Kind::Join && !m.in_ring && m.hops < HOPS_OUTSIDE_MAX && phase == Phase::Joining && known != m.asker) {
        Message on = m;
        on.hops++;
        send(known, on);
      }
      return;
    }
    uint32_t who;
    switch (m.kind) {
      case Kind::Find: {
        if (is_here(m.id, who)) {
          Message found{Kind::Found};
          found.ticket = m.ticket;
          found.id = who;
          found.hops = m.hops;
          send(m.asker, found);
        } else {
          Message on = m;
          on.hops++;
          send(who, on);
        }
        break;
      }
      case Kind::Join: {
        if (m.asker == id)
          break;
        if (is_here(m.asker, who)) {
          Message joined{Kind::Joined};
          joined.id = id;
          unsigned skip = who == m.asker ? 1 : 0;
          std::copy_n(successors.begin() + skip, BACKUPS, joined.successors.begin());
          insert(m.asker);
          send(m.asker, joined);
        } else {
          Message on = m;
          on.hops++;
          on.in_ring = true;
          send(who, on);
        }
        break;
      }
      case Kind::GetPredecessor: {
        Message answer{Kind::Predecessor};
        answer.ticket = m.ticket;
        answer.known = has_predecessor;
        answer.id = predecessor;
        std::copy_n(successors.begin(), BACKUPS, answer.successors.begin());
        send(m.asker, answer);
        break;
      }
      case Kind::Ping: {
        Message pong{Kind::Pong};
        pong.ticket = m.ticket;
        send(m.asker, pong);
        break;
      }
      case Kind::Notify:
        if (m.asker != id && (!has_predecessor || is_between(m.asker, predecessor, id))) {
          has_predecessor = true;
          predecessor = m.asker;
        }
        if (successor() == id)
          set_successors(m.asker, nullptr, 0);
        break;
      default: break; // Answers to questions that were given up.
    }
  }

  // Asks, and serves whatever else comes until the answer does; nothing if it does not come in time.
  Received ask(uint32_t whom, Message question) {
    question.ticket = ++ticket;
    question.asker = id;
    send(whom, question);
    double deadline = now() + TIMEOUT;
    while (Received received = receive_within(deadline - now())) {
      bool answers = received->kind == Kind::Found || received->kind == Kind::Predecessor || received->kind == Kind::Pong;
      if (answers && received->ticket == ticket)
        return received;
      serve(*received);
      deadline = now() + TIMEOUT;
    }
    totals.timeouts++;
    return nullptr;
  }

  void join() {
    if (known == id) {
      phase = Phase::Member;
      return;
    }
    phase = Phase::Joining;
    while (true) {
      Message request{Kind::Join};
      request.asker = id;
      request.hops = 1;
      send(known, request);
      double deadline = now() + TIMEOUT;
      while (Received received = receive_within(deadline - now())) {
        if (received->kind == Kind::Joined) {
          phase = Phase::Member;
          has_predecessor = true;
          predecessor = received->id;
          uint32_t first = received->successors[0] == id ? predecessor : received->successors[0];
          set_successors(first, received->successors.data() + 1, BACKUPS - 1);
          sg4::this_actor::yield(); // What came with the answer is served before it first sleeps.
          return;
        }
        serve(*received);
      }
      totals.timeouts++;
    }
  }

  void notify(uint32_t whom) {
    Message message{Kind::Notify};
    message.asker = id;
    send(whom, message);
  }

  void stabilise() {
    while (true) {
      uint32_t asked = successor();
      if (asked == id) {
        if (has_predecessor && predecessor != id) {
          set_successors(predecessor, nullptr, 0);
          notify(predecessor);
        }
        return;
      }
      Received answer = ask(asked, Message{Kind::GetPredecessor});
      if (!answer)
        return; // Nobody fails here.
      bool again = successor() != asked;
      if (!again) {
        if (answer->known && is_between(answer->id, id, asked)) {
          std::array<uint32_t, BACKUPS + 1> list{asked};
          std::copy_n(answer->successors.begin(), BACKUPS, list.begin() + 1);
          set_successors(answer->id, list.data(), BACKUPS + 1);
        } else {
          set_successors(asked, answer->successors.data(), BACKUPS);
        }
        again = successor() != asked;
      }
      if (!again)
        return notify(asked);
    }
  }

  void fix_a_finger() {
    uint32_t far = distance(id, successor());
    if (far == 0 || log2_of(far) + 1 >= BITS)
      return;
    unsigned least = log2_of(far) + 1;
    unsigned k = next_finger < least || next_finger >= BITS ? BITS - 1 : next_finger;
    next_finger = k - 1;
    uint32_t found;
    uint16_t hops;
    if (!find(after(id, 1U << k), found, hops))
      return;
    uint32_t to_found = distance(id, found);
    fingers[k] = found;
    for (unsigned j = k + 1; j < BITS && to_found != 0 && to_found >> j != 0; j++)
      fingers[j] = found;
  }

  void check_predecessor() {
    if (has_predecessor && predecessor != id)
      ask(predecessor, Message{Kind::Ping});
  }

  void look_up() {
    uint32_t key = fingers[random() % BITS];
    double began = now();
    uint32_t found;
    uint16_t hops;
    totals.look_ups++;
    if (!find(key, found, hops)) {
      totals.failed++;
      return;
    }
    totals.hops += hops;
    if (began >= settled && found != owner(key))
      totals.wrong++;
  }

  bool find(uint32_t key, uint32_t& found, uint16_t& hops) {
    uint32_t who;
    if (is_here(key, who)) {
      found = who;
      hops = 0;
      return true;
    }
    Message question{Kind::Find};
    question.id = key;
    question.hops = 1;
    Received answer = ask(who, question);
    if (!answer) {
      if (who != successor())
        std::replace(fingers.begin(), fingers.end(), who, id);
      return false;
    }
    found = answer->id;
    hops = answer->hops;
    return true;
  }
};

// Hosts without links: the constant network knows none.
std::vector<sg4::Host*> scattered(unsigned nodes) {
  auto* zone = sg4::create_empty_zone("hosts");
  std::vector<sg4::Host*> hosts;
  for (unsigned node = 0; node < nodes; node++)
    hosts.push_back(zone->create_host("host-" + std::to_string(node), 1e9)->seal());
  zone->seal();
  return hosts;
}

// A star of hosts: 125 MBps and 50 us up and down, backbone 2.25 GBps and 500 us.
std::vector<sg4::Host*> star(unsigned nodes) {
  auto* zone = sg4::create_star_zone("star");
  const auto* backbone = zone->create_link("backbone", 2.25e9)->set_latency(500e-6)->seal();
  std::vector<sg4::Host*> hosts;
  for (unsigned node = 0; node < nodes; node++) {
    auto* host = zone->create_host("host-" + std::to_string(node), 1e9)->seal();
    const auto* link = zone->create_split_duplex_link("link-" + std::to_string(node), 125e6)->set_latency(50e-6)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg4::LinkInRoute::Direction::UP}, {backbone, sg4::LinkInRoute::Direction::NONE}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

} // namespace

int main(int argc, char** argv) {
  // A value that is given is the user's.
  auto given = [&](const char* key) {
    return std::any_of(argv, argv + argc, [&](const char* word) { return std::strstr(word, key) != nullptr; });
  };
  bool constant = std::any_of(argv, argv + argc, [](const char* word) { return std::strcmp(word, "constant") == 0; });
  std::vector<std::string> words(argv, argv + argc);
  if (constant)
    words.insert(words.end(), {"--cfg=network/model:Constant", "--cfg=network/latency-factor:" + std::to_string(LATENCY)});
  if (!given("contexts/stack-size"))
    words.push_back("--cfg=contexts/stack-size:32"); // KiB
  if (!given("contexts/guard-size"))
    words.push_back("--cfg=contexts/guard-size:0");
  if (!given("--log"))
    words.push_back("--log=root.threshold:warning");
  std::vector<char*> pointers;
  for (auto& word : words)
    pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);

  auto begin = std::chrono::steady_clock::now();
  sg4::Engine engine(&count, pointers.data());
  if (count < 4) {
    std::fprintf(stderr, "usage: %s NODES SECONDS precise|constant [SEED]\n", argv[0]);
    return 2;
  }
  auto nodes = static_cast<unsigned>(std::strtoul(pointers[1], nullptr, 10));
  double seconds = std::strtod(pointers[2], nullptr);
  uint64_t seed = count > 4 ? std::strtoull(pointers[4], nullptr, 10) : 1;
  if (nodes == 0 || nodes > MASK || !(seconds > 0)) {
    std::fprintf(stderr, "error: there are 1 to %u nodes, and time goes on\n", MASK);
    return 2;
  }
  std::mt19937_64 random(seed);
  auto hosts = constant ? scattered(nodes) : star(nodes);
  std::vector<bool> taken(MASK + 1U);
  for (unsigned node = 0; node < nodes; node++) {
    uint32_t id = FIRST;
    while (taken[id])
      id = static_cast<uint32_t>(random()) & MASK;
    taken[id] = true;
    ids.push_back(id);
    mailboxes[id] = sg4::Mailbox::by_name(std::to_string(id));
  }
  all = ids;
  std::sort(all.begin(), all.end());
  std::vector<std::unique_ptr<Peer>> peers;
  for (unsigned node = 0; node < nodes; node++) {
    uint32_t known = node == 0 ? ids[0] : ids[random() % node];
    peers.push_back(std::make_unique<Peer>(ids[node], known, seed));
    sg4::Actor::create("peer", hosts[node], [peer = peers.back().get()] { peer->run(); });
  }
  engine.run_until(seconds);
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  unsigned members = 0, wrong_successors = 0, wrong_predecessors = 0;
  for (const auto& peer : peers) {
    members += peer->phase == Phase::Member ? 1 : 0;
    size_t place = std::lower_bound(all.begin(), all.end(), peer->id) - all.begin();
    wrong_successors += peer->successors[0] != all[(place + 1) % nodes] ? 1 : 0;
    uint32_t before = all[(place + nodes - 1) % nodes];
    wrong_predecessors += nodes > 1 && !(peer->has_predecessor && peer->predecessor == before) ? 1 : 0;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"nodes\": %u, \"seconds\": %g, \"wall_s\": %.3f, \"peak_rss_bytes\": %ld, \"messages\": %lu, \"members\": %u, "
              "\"wrong_successors\": %u, \"wrong_predecessors\": %u, \"look_ups\": %lu, \"failed_look_ups\": %lu, \"wrong_look_ups\": %lu, "
              "\"timeouts\": %lu, \"hops\": %.4f}\n",
              nodes, seconds, wall, usage.ru_maxrss * 1024, totals.messages, members, wrong_successors, wrong_predecessors,
              totals.look_ups, totals.failed, totals.wrong, totals.timeouts,
              static_cast<double>(totals.hops) / static_cast<double>(std::max<uint64_t>(1, totals.look_ups - totals.failed)));
  std::fflush(stdout);
  std::_Exit(0); // Those who are still there need no end.
}
