// DCTCP over a fat tree of 128 hosts in htsim, for the table `rivals`. README.md has the commands that build it.
//
// usage: fat_tree MICROSECONDS
//
// Links of 10 Gb/s take 1 us. A queue marks from 15 packets on. Each host sends to the host at the same place,
// four pods further, until the end. ACKs travel back through the network. Prints the data packets that have
// arrived in order, and the seconds of the run without its set-up.

#include "config.h"
#include "dctcp.h"
#include "eventlist.h"
#include "fat_tree_topology.h"
#include "network.h"
#include "tcp.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static std::mt19937 draws(1);

// Returns one of the shortest paths between two hosts, to an end.
static Route *path(FatTreeTopology &tree, int from, int to, PacketSink *end) {
  static std::vector<std::vector<vector<const Route *> *>> found(128, std::vector<vector<const Route *> *>(128));
  auto &paths = found[from][to];
  if (!paths) paths = tree.get_bidir_paths(from, to, false);
  Route *path = new Route(*(*paths)[draws() % paths->size()]);
  path->push_back(end);
  return path;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: fat_tree MICROSECONDS\n");
    return 2;
  }
  const int hosts = 128, half = hosts / 2, pod = 16;
  EventList &events = EventList::getTheEventList();
  events.setEndtime(timeFromUs((double)atol(argv[1])));
  Packet::set_packet_size(1500);
  FatTreeTopology tree(hosts, speedFromMbps((uint64_t)10000), memFromPkt(100), NULL, &events, NULL, ECN);
  TcpRtxTimerScanner timers(timeFromMs(10), events);
  std::vector<TcpSink *> sinks;
  uint32_t mss = 0;
  for (int host = 0; host < hosts; host++) {
    int to = host < half ? host + half : (host - half + pod) % half;
    DCTCPSrc *source = new DCTCPSrc(NULL, NULL, events);
    TcpSink *sink = new TcpSink();
    timers.registerTcp(*source);
    source->connect(*path(tree, host, to, sink), *path(tree, to, host, source), *sink, 0);
    sinks.push_back(sink);
    mss = source->_mss;
  }
  auto begin = std::chrono::steady_clock::now();
  while (EventList::doNextEvent()) {
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  double packets = 0;
  for (TcpSink *sink : sinks) packets += (double)sink->_cumulative_ack / mss;
  printf("\npackets %.0f\nseconds %.6f\n", packets, seconds.count());
  return 0;
}
