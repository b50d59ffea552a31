// The campus of `parades run campus --set traffic=tcp`, built with ns-3, for comparison.
//
// Build:  c++ -std=c++17 -O2 campus.cc -o campus $(pkg-config --cflags --libs ns3-applications ns3-internet \
//             ns3-network ns3-nix-vector-routing ns3-point-to-point ns3-traffic-control)
// Run:    ./campus FLOWS NETWORKS SECONDS
//
// FLOWS has a line `campus host server start_s` for each flow, as `--set flows=FLOWS` takes it. The program
// prints one JSON object: events, packets that reached their destination, bytes that applications received,
// flows that are complete, and the seconds of the simulation phase.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint64_t kFlowBytes = 500224;
constexpr uint16_t kPort = 5001;

uint64_t delivered_packets = 0;

void OnLocalDeliver(const Ipv4Header&, Ptr<const Packet>, uint32_t) { ++delivered_packets; }

struct Campus {
  NodeContainer net0, net1, net2, net3, core;
  std::vector<Ptr<Node>> hosts;
};

class Builder {
 public:
  Builder() {
    inner_.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    inner_.SetChannelAttribute("Delay", StringValue("5ms"));
    access_.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    access_.SetChannelAttribute("Delay", StringValue("1ms"));
    ring_.SetDeviceAttribute("DataRate", StringValue("2Gbps"));
    ring_.SetChannelAttribute("Delay", StringValue("200ms"));
    address_.SetBase("10.0.0.0", "255.255.255.252");
    stack_.SetRoutingHelper(Ipv4NixVectorHelper());
    stack_.SetIpv6StackInstall(false);
  }

  Campus Build() {
    Campus campus;
    campus.net0 = Nodes(3);
    campus.net1 = Nodes(6);
    campus.net2 = Nodes(14);
    campus.net3 = Nodes(9);
    campus.core = Nodes(2);
    const auto &n0 = campus.net0, &n1 = campus.net1, &n2 = campus.net2, &n3 = campus.net3, &lr = campus.core;
    Links(n0, {{0, 1}, {1, 2}, {2, 0}});
    Links(n1, {{0, 1}, {2, 0}, {3, 0}, {4, 1}, {5, 1}});
    Link(inner_, n0.Get(2), n1.Get(0));
    Links(n2, {{0, 1}, {2, 0}, {1, 3}, {3, 2}, {4, 2}, {5, 3}, {6, 5}, {7, 2}, {8, 3}, {9, 4}, {10, 5}, {11, 6}, {12, 6}, {13, 6}});
    Links(n3, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {4, 0}, {5, 0}, {6, 2}, {7, 3}, {8, 3}});
    Link(inner_, lr.Get(0), lr.Get(1));
    Link(inner_, lr.Get(0), n0.Get(0));
    Link(inner_, lr.Get(1), n0.Get(1));
    Link(inner_, lr.Get(0), n2.Get(0));
    Link(inner_, lr.Get(1), n2.Get(1));
    Link(inner_, lr.Get(1), n3.Get(0));
    Link(inner_, lr.Get(1), n3.Get(1));
    for (uint32_t router = 7; router <= 13; ++router) Lan(campus, n2.Get(router));
    for (uint32_t router = 4; router <= 8; ++router) Lan(campus, n3.Get(router));
    return campus;
  }

  void Ring(const std::vector<Campus>& all) {
    if (all.size() < 2) return;
    for (size_t z = 0; z < all.size(); ++z) {
      Link(ring_, all[z].net0.Get(0), all[(z + 1) % all.size()].net0.Get(0));
    }
  }

 private:
  NodeContainer Nodes(uint32_t count) {
    NodeContainer nodes;
    nodes.Create(count);
    stack_.Install(nodes);
    return nodes;
  }

  void Links(const NodeContainer& nodes, const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
    for (auto [a, b] : pairs) Link(inner_, nodes.Get(a), nodes.Get(b));
  }

  void Link(PointToPointHelper& kind, Ptr<Node> a, Ptr<Node> b) {
    NetDeviceContainer devices = kind.Install(a, b);
    address_.Assign(devices);
    // Only the device's own queue of 100 packets, as in the published model.
    TrafficControlHelper().Uninstall(devices);
    address_.NewNetwork();
  }

  void Lan(Campus& campus, Ptr<Node> router) {
    for (int host = 0; host < 42; ++host) {
      NodeContainer node = Nodes(1);
      Link(access_, router, node.Get(0));
      campus.hosts.push_back(node.Get(0));
    }
  }

  PointToPointHelper inner_, access_, ring_;
  Ipv4AddressHelper address_;
  InternetStackHelper stack_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s FLOWS NETWORKS SECONDS\n", argv[0]);
    return 2;
  }
  const uint32_t networks = std::atoi(argv[2]);
  const double seconds = std::atof(argv[3]);
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(512));
  Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("100p"));

  Builder builder;
  std::vector<Campus> all;
  for (uint32_t z = 0; z < networks; ++z) all.push_back(builder.Build());
  builder.Ring(all);

  std::ifstream file(argv[1]);
  uint32_t campus, host, server;
  double start;
  ApplicationContainer sinks;
  std::vector<bool> has_sink(size_t{networks} * 504, false);
  while (file >> campus >> host >> server >> start) {
    Ptr<Node> to = all.at(campus).hosts.at(host);
    Ptr<Node> from = all.at((campus + 1) % networks).net1.Get(server);
    Ipv4Address address = to->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    if (!has_sink.at(size_t{campus} * 504 + host)) {
      has_sink[size_t{campus} * 504 + host] = true;
      PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
      sinks.Add(sink.Install(to));
    }
    OnOffHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, kPort));
    source.SetAttribute("OnTime", StringValue("ns3::ConstantRandomVariable[Constant=1]"));
    source.SetAttribute("OffTime", StringValue("ns3::ConstantRandomVariable[Constant=0]"));
    source.SetAttribute("DataRate", StringValue("500kb/s"));
    source.SetAttribute("PacketSize", UintegerValue(512));
    source.SetAttribute("MaxBytes", UintegerValue(kFlowBytes));
    source.Install(from).Start(Seconds(start));
  }
  sinks.Start(Seconds(0));
  Config::ConnectWithoutContext("/NodeList/*/$ns3::Ipv4L3Protocol/LocalDeliver", MakeCallback(&OnLocalDeliver));

  Simulator::Stop(Seconds(seconds));
  const auto before = std::chrono::steady_clock::now();
  Simulator::Run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  uint64_t bytes = 0, complete = 0;
  for (auto app = sinks.Begin(); app != sinks.End(); ++app) {
    const uint64_t received = DynamicCast<PacketSink>(*app)->GetTotalRx();
    bytes += received;
    complete += received == kFlowBytes;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"events\": %llu, \"packets\": %llu, \"bytes\": %llu, \"complete\": %llu, \"run_seconds\": %.3f, \"peak_rss_bytes\": %lld}\n",
              static_cast<unsigned long long>(Simulator::GetEventCount()),
              static_cast<unsigned long long>(delivered_packets), static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(complete), wall.count(), usage.ru_maxrss * 1024LL);
  Simulator::Destroy();
  return 0;
}
