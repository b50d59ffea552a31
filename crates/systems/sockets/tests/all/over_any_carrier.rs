//! Sockets need no network of packets: any carrier of messages does. And a node that crashes gets new ones.

use crate::support::{Main, Script, bytes, lines, run_under_all_engines, say, two};
use parades_carriers::{Constant, FlowLevel};
use parades_core::prelude::*;
use parades_engine::{rounds, sequential, window};
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_packet::network::Settings as NetworkSettings;
use parades_program::{Carrier, Processes, Program, Start};
use parades_sockets::{Error, Packet, Sockets, TcpListener, TcpStream};
use parades_tcp::settings::Settings;

/// Node 0 sends 100,000 bytes to each of the others, which keep them as their state.
struct Spread<C>(C);

impl<C: Carrier<Packet>> Program for Spread<C> {
    type Message = Packet;
    type State = (Vec<u8>, Time);
    type Carrier = C;

    fn nodes(&self) -> u32 {
        4
    }
    fn carrier(&self) -> &C {
        &self.0
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State {
        let sockets = Sockets::start(start, Settings::linux());
        if start.id() == LpId(0) {
            start.spawn("server", |node| async move {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                for _ in 1..4 {
                    let (stream, peer) = listener.accept().await.expect("clients come");
                    let sent = bytes(peer.node.0, 100_000);
                    node.spawn("stream", |_| async move { stream.write_all(&sent).await });
                }
            });
        } else {
            start.spawn("client", |node| async move {
                let stream = TcpStream::connect(&sockets, (LpId(0), 80)).await.expect("the server listens");
                let mut read = Vec::new();
                stream.read_to_end(&mut read).await.expect("the server closes in order");
                node.with(|here| *here.state = (read, here.now()));
            });
        }
        Default::default()
    }
    fn must_end(&self) -> bool {
        true
    }
    fn finish(&self, id: LpId, (read, when): &Self::State, _: &End, _: &mut Metrics) {
        assert!(id == LpId(0) || *read == bytes(id.0, 100_000), "node {} has read {} bytes", id.0, read.len());
        assert!(id == LpId(0) || *when < Time::from_secs(10), "{when}");
    }
}

fn spread<C: Carrier<Packet>>(carrier: C) {
    let model = Processes::new(Spread(carrier));
    let options = || RunOptions::until(Time::from_secs(100));
    let expected = sequential::run(&model, options()).expect("it runs");
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    let found = rounds::run(&model, options(), &settings).expect("it runs");
    assert_eq!(found.digest, expected.digest);
    let found = window::run(&model, options(), &window::Settings::of_threads(2)).expect("it runs");
    assert_eq!(found.digest, expected.digest);
}

#[test]
fn streams_arrive_whole_over_latencies_and_over_flows() {
    spread(Constant::new(Delay::from_ms(10)));
    let network_model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let platform = star(4).expect("a star").into();
    spread(FlowLevel::new(platform, network_model, 4, |packet: &Packet| f64::from(packet.bytes() + 20)));
}

#[test]
fn a_node_that_has_crashed_resets_the_connections_of_before() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == LpId(1) {
                let stream = TcpStream::connect(&sockets, (LpId(0), 80)).await.expect("the server listens");
                let mut buffer = [0; 10];
                assert_eq!(stream.read(&mut buffer).await, Ok(1));
                node.sleep(Delay::from_secs(1)).await;
                stream.write_all(b"still there?").await.expect("this end knows of no crash");
                assert_eq!(stream.read(&mut buffer).await, Err(Error::Reset));
                let again = TcpStream::connect(&sockets, (LpId(0), 80)).await.expect("the server listens again");
                assert_eq!(again.read(&mut buffer).await, Ok(2));
                return say(node, "both");
            }
            let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
            let (stream, _) = listener.accept().await.expect("a client comes");
            stream.write_all(b"a").await.expect("it is connected");
            node.sleep(Delay::from_ms(100)).await;
            // The host crashes: nothing of before the crash is left.
            node.kill_others();
            let sockets = Sockets::restart(node, Settings::linux());
            let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free again");
            let (stream, _) = listener.accept().await.expect("the client comes again");
            stream.write_all(b"bb").await.expect("it is connected");
            assert_eq!(sockets.counts().segments_refused, 1);
        })
    };
    let program = Script { carrier: two(NetworkSettings::default()), settings: Settings::linux(), main };
    assert_eq!(lines(&run_under_all_engines(program, 100)), ["1: both"]);
}
