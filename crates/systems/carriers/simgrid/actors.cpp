// The programs of crates/systems/carriers/tests/all (programs_on_platforms.rs, deployments.rs) as actors of
// SimGrid, and two usual ones: a master with workers, and a token on a ring. Each prints its log by time and
// text. README.md has the command.

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sg4 = simgrid::s4u;

static std::vector<std::pair<double, std::string>> lines;

static void say(const std::string& text)
{
  lines.emplace_back(sg4::Engine::get_clock(), text);
}

static sg4::Host* host(const char* name)
{
  return sg4::Host::by_name(name);
}

static sg4::ActorPtr spawn(const char* on, const std::function<void()>& code)
{
  return sg4::Actor::create("actor", host(on), code);
}

static void sleep_until(double time)
{
  sg4::this_actor::sleep_until(time);
}

static void put(const char* mailbox, double bytes)
{
  sg4::Mailbox::by_name(mailbox)->put(new double(bytes), bytes);
}

static void get(const char* mailbox)
{
  delete sg4::Mailbox::by_name(mailbox)->get<double>();
}

static void computations()
{
  struct Load { const char* name; double priority; double bound; };
  for (Load load : {Load{"plain", 1, 0}, Load{"priority 2", 2, 0}, Load{"bounded", 1, 1e8}})
    spawn("a", [load] {
      auto exec = sg4::this_actor::exec_init(1e9)->set_priority(load.priority);
      if (load.bound > 0)
        exec->set_bound(load.bound);
      exec->wait();
      say(load.name);
    });
  struct Later { const char* name; double begin; double priority; };
  for (Later later : {Later{"c0", 0, 1}, Later{"c1", 0.5, 1}, Later{"c2", 1, 1}, Later{"prio 3", 0.25, 3}})
    spawn("c", [later] {
      sg4::this_actor::sleep_for(later.begin);
      sg4::this_actor::exec_init(1e9)->set_priority(later.priority)->wait();
      say(later.name);
    });
  spawn("b", [] {
    sg4::this_actor::exec_init(1e9)->set_thread_count(3)->wait();
    say("threads");
  });
  spawn("b", [] {
    std::vector<sg4::ExecPtr> others;
    for (int i = 0; i < 3; i++)
      others.push_back(sg4::this_actor::exec_async(1e9));
    for (auto& other : others)
      other->wait();
    say("others");
  });
}

static void suspended_computation()
{
  spawn("a", [] {
    auto exec = sg4::this_actor::exec_async(1e9);
    sg4::this_actor::sleep_for(0.25);
    exec->suspend();
    say("left " + std::to_string(static_cast<long>(exec->get_remaining())));
    sg4::this_actor::sleep_for(1);
    exec->resume();
    exec->wait();
    say("first");
  });
  spawn("a", [] {
    sg4::this_actor::execute(2e9);
    say("second");
  });
}

static void power_state_and_disk()
{
  spawn("a", [] {
    sg4::this_actor::execute(1e9);
    say("computed");
  });
  spawn("a", [] {
    host("a")->get_disks().front()->read(static_cast<sg_size_t>(1e8));
    say("read");
  });
  spawn("a", [] {
    host("a")->get_disks().front()->write(static_cast<sg_size_t>(2e7));
    say("first write");
  });
  spawn("a", [] {
    sg4::this_actor::sleep_for(0.1);
    host("a")->get_disks().front()->write(static_cast<sg_size_t>(2e7));
    say("second write");
  });
  spawn("b", [] {
    sg4::this_actor::sleep_for(0.5);
    host("a")->set_pstate(1);
  });
}

static void messages()
{
  spawn("a", [] {
    std::vector<sg4::CommPtr> puts;
    for (int number = 0; number < 3; number++) {
      double bytes = (3 - number) * 5e6;
      puts.push_back(sg4::Mailbox::by_name("m" + std::to_string(number))->put_async(new double(bytes), bytes));
    }
    while (not puts.empty()) {
      ssize_t place = sg4::Comm::wait_any(puts);
      puts.erase(puts.begin() + place);
      say("put at place " + std::to_string(place));
    }
  });
  for (int number : {1, 0, 2})
    spawn(number == 1 ? "b" : "c", [number] {
      sg4::this_actor::sleep_for(0.1 * number);
      get(("m" + std::to_string(number)).c_str());
      say("got " + std::to_string(number));
    });
}

static void permanent_receiver()
{
  spawn("a", [] {
    sg4::this_actor::sleep_for(0.01);
    for (double bytes : {2e6, 5e6}) {
      put("m", bytes);
      say("put");
    }
    sg4::Mailbox::by_name("detached")->put_init(new double(5e6), static_cast<uint64_t>(5e6))->detach();
  });
  spawn("b", [] {
    sg4::Mailbox::by_name("m")->set_receiver(sg4::Actor::self());
    sg4::this_actor::sleep_for(0.5);
    for (int i = 0; i < 2; i++) {
      get("m");
      say("got");
    }
    sg4::this_actor::sleep_for(1);
    get("detached");
    say("got the detached one");
  });
}

static void lost_peers()
{
  auto putter = spawn("a", [] { put("m", 1e7); });
  spawn("a", [] {
    sg4::this_actor::sleep_for(1.5);
    try {
      put("m", 1e7);
    } catch (const simgrid::Exception&) {
      say("Err(Peer)");
    }
  });
  spawn("a", [] {
    sg4::this_actor::sleep_for(10);
    try {
      sg4::Mailbox::by_name("m")->put(new double(1e7), 10000000, 0.3);
    } catch (const simgrid::TimeoutException&) {
      say("None");
    }
  });
  spawn("b", [] {
    try {
      get("m");
    } catch (const simgrid::Exception&) {
      say("got Err(Peer)");
    }
  });
  auto getter = spawn("b", [] {
    sg4::this_actor::sleep_for(1.5);
    get("m");
  });
  spawn("b", [] {
    sg4::this_actor::sleep_for(10.1);
    try {
      get("m");
    } catch (const simgrid::Exception&) {
      say("got Err(Peer)");
    }
    try {
      sg4::Mailbox::by_name("m")->get<double>(0.2);
    } catch (const simgrid::TimeoutException&) {
      say("got None");
    }
  });
  spawn("c", [putter, getter] {
    struct Kill { double time; sg4::ActorPtr actor; };
    for (const Kill& kill : {Kill{0.5, putter}, Kill{2.0, getter}}) {
      sleep_until(kill.time);
      kill.actor->kill();
      kill.actor->join();
      say("killed");
    }
  });
}

static void suspended_actors()
{
  auto sleeper = spawn("a", [] {
    sg4::this_actor::sleep_for(2);
    say("slept");
    sg4::this_actor::execute(1e9);
    say("computed");
    sleep_until(10);
    put("m", 1e7);
    say("put");
  });
  auto in_part = spawn("a", [] {
    sg4::this_actor::sleep_for(2);
    say("slept in part");
    sg4::this_actor::suspend();
    say("goes on");
  });
  spawn("b", [sleeper] {
    for (auto [from, to] : {std::pair(1.0, 4.0), std::pair(4.5, 5.5), std::pair(10.5, 12.5)}) {
      sleep_until(from);
      sleeper->suspend();
      sleep_until(to);
      sleeper->resume();
    }
  });
  spawn("b", [] {
    get("m");
    say("got");
  });
  spawn("c", [in_part] {
    sg4::this_actor::sleep_for(1);
    in_part->suspend();
    sg4::this_actor::sleep_for(0.5);
    in_part->resume();
    sg4::this_actor::sleep_for(1.5);
    in_part->resume();
  });
}

static sg4::ActorPtr computing;

static void failing_host()
{
  spawn("a", [] {
    sg4::ActorPtr actor = computing;
    actor->join(0.5);
    say("joined with timeout");
    actor->join();
    say("joined");
  });
  spawn("a", [] {
    sg4::this_actor::sleep_for(1);
    host("c")->turn_off();
    sg4::this_actor::sleep_for(1);
    host("c")->turn_on();
  });
  spawn("b", [] {
    for (int i = 0; i < 2; i++) {
      try {
        sg4::this_actor::exec_init(3e9)->set_host(host("c"))->wait();
        say("Ok");
      } catch (const simgrid::HostFailureException&) {
        say("Err(Host)");
      }
    }
  });
  computing = spawn("c", [] {
    sg4::this_actor::on_exit([](bool failed) { say(failed ? "ends killed" : "ends"); });
    say("begins");
    sg4::this_actor::execute(2e9);
    say("computed");
  });
  computing->set_auto_restart(true);
}

static void locks()
{
  auto mutex     = sg4::Mutex::create();
  auto semaphore = sg4::Semaphore::create(2);
  auto barrier   = sg4::Barrier::create(3);
  for (const char* name : {"a", "b", "c"})
    spawn(name, [mutex, semaphore, barrier, name] {
      mutex->lock();
      say(std::string(name) + " locks");
      sg4::this_actor::sleep_for(1);
      mutex->unlock();
      semaphore->acquire();
      say(std::string(name) + " has a permit");
      sg4::this_actor::sleep_for(2);
      semaphore->release();
      barrier->wait();
      say(std::string(name) + " passes");
    });
}

static void conditions()
{
  auto mutex     = sg4::Mutex::create();
  auto condition = sg4::ConditionVariable::create();
  spawn("a", [mutex, condition] {
    std::unique_lock<sg4::Mutex> lock(*mutex);
    condition->wait(lock);
    say("woken");
    sg4::this_actor::sleep_for(0.5);
  });
  spawn("a", [mutex, condition] {
    std::unique_lock<sg4::Mutex> lock(*mutex);
    bool notified = condition->wait_for(lock, 0.7) == std::cv_status::no_timeout;
    say(std::string("notified: ") + (notified ? "true" : "false"));
    sg4::this_actor::sleep_for(0.5);
  });
  spawn("b", [mutex, condition] {
    sg4::this_actor::sleep_for(1);
    std::unique_lock<sg4::Mutex> lock(*mutex);
    condition->notify_all();
    say("notifies");
    sg4::this_actor::sleep_for(1);
  });
}

static void producer_and_consumer()
{
  auto room  = sg4::Semaphore::create(2);
  auto items = sg4::Semaphore::create(0);
  spawn("a", [room, items] {
    for (int item = 0; item < 5; item++) {
      sg4::this_actor::sleep_for(1);
      room->acquire();
      say("produced " + std::to_string(item));
      items->release();
    }
  });
  spawn("b", [room, items] {
    for (int item = 0; item < 5; item++) {
      items->acquire();
      sg4::this_actor::sleep_for(2.5);
      say("consumed " + std::to_string(item));
      room->release();
    }
  });
}

// The master on `a` puts six tasks of 1 to 6 MB into one mailbox. The workers on `b` and `c` get one after
// another, and compute for 1 Gflop.
static void master_and_workers()
{
  spawn("a", [] {
    for (int task = 1; task <= 6; task++) {
      put("tasks", task * 1e6);
      say("put task " + std::to_string(task));
    }
    for (int worker = 0; worker < 2; worker++)
      put("tasks", 0);
  });
  for (const char* name : {"b", "c"})
    spawn(name, [name] {
      while (true) {
        double* task = sg4::Mailbox::by_name("tasks")->get<double>();
        double bytes = *task;
        delete task;
        if (bytes == 0)
          break;
        sg4::this_actor::execute(1e9);
        say(std::string(name) + " has done task " + std::to_string(static_cast<int>(bytes / 1e6)));
      }
    });
}

// A token of 1 MB goes twice around the ring of `a`, `b` and `c`.
static void token_ring()
{
  const std::vector<std::string> ring = {"a", "b", "c"};
  for (size_t place = 0; place < 3; place++)
    spawn(ring[place].c_str(), [ring, place] {
      std::string next = "ring " + ring[(place + 1) % 3];
      std::string mine = "ring " + ring[place];
      for (int round = 0; round < 2; round++) {
        if (place > 0 || round > 0) {
          get(mine.c_str());
          say(ring[place] + " has the token");
        }
        put(next.c_str(), 1e6);
      }
      if (place == 0) {
        get(mine.c_str());
        say("a has the token back");
      }
    });
}

static void works(std::vector<std::string> words)
{
  say(words[2] + " begins");
  sg4::this_actor::execute(std::stod(words[1]));
  say(words[2] + " ends");
}

static int run(const std::string& name, void (*begin)(), int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/crosstraffic:0");
  if (begin == nullptr) {
    engine.register_function("works", works);
    engine.load_platform("two.xml");
    engine.load_deployment("deployment.xml");
  } else {
    engine.load_platform("three.xml");
    begin();
  }
  engine.run();
  std::sort(lines.begin(), lines.end());
  printf("%s\n", name.c_str());
  for (const auto& [time, text] : lines)
    printf("  %.9f %s\n", time, text.c_str());
  return 0;
}

int main(int argc, char** argv)
{
  const std::vector<std::pair<std::string, void (*)()>> programs = {
      {"computations_share_the_cores_of_their_host", computations},
      {"a_computation_is_suspended_and_changed_and_says_what_is_left", suspended_computation},
      {"the_power_state_of_a_host_changes_its_speed_and_reads_and_writes_share_a_disk", power_state_and_disk},
      {"a_message_sets_out_when_both_ends_are_there_and_waits_can_be_combined", messages},
      {"messages_travel_at_once_to_a_permanent_receiver_and_a_detached_one_needs_no_sender", permanent_receiver},
      {"a_peer_that_is_killed_or_gives_up_fails_the_message", lost_peers},
      {"a_suspended_process_makes_no_progress_and_its_sleep_ends_at_its_time", suspended_actors},
      {"a_host_that_fails_ends_its_processes_and_they_begin_again_with_it", failing_host},
      {"mutexes_semaphores_and_barriers_hold_between_hosts", locks},
      {"conditions_hold_between_hosts_and_a_wait_may_have_a_timeout", conditions},
      {"a_producer_waits_for_room_and_what_a_killed_process_has_locked_is_free", producer_and_consumer},
      {"a_master_gives_tasks_to_workers", master_and_workers},
      {"a_token_goes_around_a_ring", token_ring},
      {"processes_begin_end_and_begin_again_as_their_file_says", nullptr},
  };
  // One process for each program, as SimGrid has one engine a process.
  for (const auto& [name, begin] : programs) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
      return run(name, begin, argc, argv);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      fprintf(stderr, "%s has failed\n", name.c_str());
      return 1;
    }
  }
  return 0;
}
