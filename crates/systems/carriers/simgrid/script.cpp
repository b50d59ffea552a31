// Runs a script of `against.rs` as actors of SimGrid. Prints a line for each action that has ended: time,
// actor, index of the action, and `ok` or `failed`.
//
// usage: script PLATFORM SCRIPT

#include <simgrid/s4u.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Action {
  std::string kind;
  std::string name;
  double amount;
  double timeout;
};

struct Actor {
  std::string host;
  bool restarts;
  std::vector<Action> actions;
};

struct Switch {
  double time;
  std::string host;
  bool works;
};

static std::vector<Actor> actors;
static std::vector<Switch> switches;
static std::map<std::string, sg4::MutexPtr> mutexes;

static bool act(const Action& action)
{
  auto* mailbox = sg4::Mailbox::by_name(action.name);
  sg4::Disk* disk = sg4::this_actor::get_host()->get_disks().front();
  try {
    if (action.kind == "compute")
      sg4::this_actor::exec_init(action.amount)->set_priority(std::stod(action.name))->wait();
    else if (action.kind == "sleep")
      sg4::this_actor::sleep_for(action.amount);
    else if (action.kind == "read")
      disk->read(static_cast<sg_size_t>(action.amount));
    else if (action.kind == "write")
      disk->write(static_cast<sg_size_t>(action.amount));
    else if (action.kind == "put")
      mailbox->put(new int(0), static_cast<uint64_t>(action.amount), action.timeout);
    else if (action.kind == "get")
      delete mailbox->get<int>(action.timeout);
    else if (action.kind == "lock")
      mutexes.at(action.name)->lock();
    else if (action.kind == "unlock")
      mutexes.at(action.name)->unlock();
    return true;
  } catch (const simgrid::Exception&) {
    return false;
  }
}

static void read(const char* file)
{
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "actor") {
      Actor actor;
      words >> actor.host >> actor.restarts;
      actors.push_back(actor);
    } else if (kind == "switch") {
      Switch change;
      words >> change.time >> change.host >> change.works;
      switches.push_back(change);
    } else {
      Action action;
      action.kind = kind;
      words >> action.name >> action.amount >> action.timeout;
      actors.back().actions.push_back(action);
      if (kind == "lock")
        mutexes.emplace(action.name, nullptr);
    }
  }
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  read(argv[2]);
  for (auto& [name, mutex] : mutexes)
    mutex = sg4::Mutex::create();
  for (size_t id = 0; id < actors.size(); id++) {
    auto actor = sg4::Actor::create("actor", sg4::Host::by_name(actors[id].host), [id] {
      for (size_t index = 0; index < actors[id].actions.size(); index++) {
        bool ok = act(actors[id].actions[index]);
        printf("%.12f %zu %zu %s\n", sg4::Engine::get_clock(), id, index, ok ? "ok" : "failed");
      }
    });
    actor->set_auto_restart(actors[id].restarts);
  }
  sg4::Actor::create("switches", sg4::Host::by_name("h0"), [] {
    for (const Switch& change : switches) {
      sg4::this_actor::sleep_until(change.time);
      if (change.works)
        sg4::Host::by_name(change.host)->turn_on();
      else
        sg4::Host::by_name(change.host)->turn_off();
    }
  });
  engine.run();
  return 0;
}
