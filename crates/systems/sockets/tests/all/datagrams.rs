//! UDP sockets.

use crate::support::{Main, Script, bytes, counter, lines, log, run_under_all_engines, say, two};
use parades_core::prelude::*;
use parades_packet::network::Settings as NetworkSettings;
use parades_program::{Either, select};
use parades_sockets::{Address, DATAGRAM_MAX, Error, UdpSocket};
use parades_tcp::settings::Settings;

fn script(losses: f64, main: Main) -> Script {
    let network = NetworkSettings { losses: vec![losses], ..Default::default() };
    Script { carrier: two(network), settings: Settings::linux(), main }
}

#[test]
fn some_datagrams_are_lost_and_the_others_arrive_whole() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            let socket = UdpSocket::bind(&sockets, 9).expect("the port is free");
            if node.id() == LpId(0) {
                for number in 0..200 {
                    socket.send_to(&bytes(number, 100), (LpId(1), 9)).await.expect("the node exists");
                    node.sleep(Delay::from_ms(1)).await;
                }
                return;
            }
            let (mut arrived, mut number) = (0, 0);
            let mut buffer = [0; 1500];
            let end = node.now().checked_add(Delay::from_secs(1)).expect("soon");
            while let Either::Left(received) = select(socket.recv_from(&mut buffer), node.sleep_until(end)).await {
                let (count, from) = received.expect("a bound socket receives");
                assert_eq!((count, from), (100, Address { node: LpId(0), port: 9 }));
                // They arrive in order, with gaps.
                while buffer[..100] != bytes(number, 100) {
                    number += 1;
                }
                arrived += 1;
            }
            say(node, arrived);
        })
    };
    let outcome = run_under_all_engines(script(0.2, main), 2);
    let arrived: u128 = lines(&outcome)[0]["1: ".len()..].parse().expect("a number");
    assert_eq!(arrived + counter(&outcome, "messages_failed"), 200);
    // The mean is 160, and the deviation 5.7.
    assert!((137..183).contains(&arrived), "{arrived}");
}

#[test]
fn a_datagram_takes_the_time_of_its_packet_and_is_cut_off_where_it_does_not_fit() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == LpId(0) {
                let socket = UdpSocket::bind(&sockets, 0).expect("a port is free");
                assert_eq!(socket.send_to(&[7; 1222], (LpId(1), 9)).await, Ok(1222));
                return;
            }
            let socket = UdpSocket::bind(&sockets, 9).expect("the port is free");
            let mut buffer = [0; 10];
            let (count, _) = socket.recv_from(&mut buffer).await.expect("it is bound");
            assert_eq!(buffer, [7; 10]);
            log(node, count);
        })
    };
    // 1250 bytes with their headers of 28, at 10 Mbit/s.
    assert_eq!(lines(&run_under_all_engines(script(0.0, main), 1)), ["1: 6.000 10"]);
}

#[test]
fn errors_are_values_and_a_connected_socket_hears_its_peer_alone() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == LpId(0) {
                for (port, text) in [(1000, &b"stranger"[..]), (2000, b"friend"), (2000, b"friend again")] {
                    let socket = UdpSocket::bind(&sockets, port).expect("the port is free again");
                    socket.send_to(text, (LpId(1), 9)).await.expect("the node exists");
                }
                // Nobody has this port, so the datagram is dropped at its node.
                let socket = UdpSocket::bind(&sockets, 0).expect("a port is free");
                socket.send_to(b"nobody", (LpId(1), 10)).await.expect("the node exists");
                return;
            }
            let socket = UdpSocket::bind(&sockets, 9).expect("the port is free");
            assert_eq!(UdpSocket::bind(&sockets, 9).err(), Some(Error::AddressInUse(9)));
            assert_eq!(socket.send(b"x").await, Err(Error::NotConnected));
            assert_eq!(socket.send_to(b"x", (LpId(2), 9)).await, Err(Error::Unreachable(2)));
            let long = vec![0; DATAGRAM_MAX + 1];
            assert_eq!(socket.send_to(&long, (LpId(0), 9)).await, Err(Error::TooLong(65_508)));
            assert_eq!(std::io::Error::from(Error::TooLong(65_508)).kind(), std::io::ErrorKind::InvalidInput);
            socket.connect((LpId(0), 2000)).await.expect("the node exists");
            for text in [&b"friend"[..], b"friend again"] {
                let mut buffer = [0; 100];
                let count = socket.recv(&mut buffer).await.expect("it is bound");
                assert_eq!(&buffer[..count], text);
            }
            node.sleep(Delay::from_ms(100)).await;
            say(node, format!("{} dropped", sockets.counts().datagrams_dropped));
        })
    };
    assert_eq!(lines(&run_under_all_engines(script(0.0, main), 1)), ["1: 2 dropped"]);
}
