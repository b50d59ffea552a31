//! TCP streams between the processes of programs.

use crate::support::{Main, Script, bytes, counter, lines, log, run, run_under_all_engines, say, star, two};
use parades_core::prelude::*;
use parades_packet::network::Settings as NetworkSettings;
use parades_packet::queue::QueueLimit;
use parades_program::{Node, select};
use parades_sockets::{Error, Sockets, TcpListener, TcpStream};
use parades_tcp::settings::Settings;
use std::sync::Arc;

const SERVER: LpId = LpId(0);

/// Sends back what it reads, to `clients` clients at once.
async fn echo(node: Node<Script>, sockets: &Sockets, clients: u32) -> Result<(), Error> {
    let listener = TcpListener::bind(sockets, 7).await?;
    let mut serving = Vec::new();
    for _ in 0..clients {
        let (stream, _) = listener.accept().await?;
        serving.push(node.spawn("echo", |_| async move {
            let mut buffer = [0; 4096];
            loop {
                match stream.read(&mut buffer).await? {
                    0 => return Ok::<(), Error>(()),
                    count => stream.write_all(&buffer[..count]).await?,
                }
            }
        }));
    }
    for server in serving {
        server.await.expect("nobody kills it")?;
    }
    Ok(())
}

/// Connects, and sends `len` bytes while it reads what comes back. Returns the retransmissions of this end.
async fn ask_echo(node: Node<Script>, sockets: &Sockets, len: usize) -> Result<u64, Error> {
    let stream = Arc::new(TcpStream::connect(sockets, (SERVER, 7)).await?);
    let sent = bytes(node.id().0, len);
    let (writer, copy) = (Arc::clone(&stream), sent.clone());
    let writing = node.spawn("writer", |_| async move {
        writer.write_all(&copy).await?;
        writer.shutdown().await
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    writing.await.expect("nobody kills it")?;
    assert!(received == sent, "{} of {} bytes came back", received.len(), sent.len());
    let counts = stream.info().counts;
    Ok(counts.fast_retransmissions + counts.timeout_retransmissions)
}

#[test]
fn an_echo_server_returns_every_byte_under_loss_on_every_engine_alike() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                return echo(node, &sockets, 6).await.expect("every connection ends in order");
            }
            let retransmitted = ask_echo(node, &sockets, 60_000).await.expect("the server answers");
            say(node, if retransmitted > 0 { "again" } else { "once" });
        })
    };
    let lossy = NetworkSettings { losses: vec![0.03; 7], queue: QueueLimit::Packets(20).into(), ..Default::default() };
    for settings in [Settings::linux(), Settings::ns3()] {
        let outcome = run_under_all_engines(Script { carrier: star(6, lossy.clone()), settings, main }, 600);
        let lines = lines(&outcome);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines.iter().filter(|line| line.ends_with("again")).count() > 3, "{lines:?}");
        assert!(counter(&outcome, "messages_failed") > 30);
        assert_eq!((counter(&outcome, "processes_waiting"), counter(&outcome, "messages_lost")), (0, 0));
    }
}

#[test]
fn one_direction_may_end_before_the_other() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            let mut read = Vec::new();
            if node.id() == SERVER {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                let (stream, peer) = listener.accept().await.expect("a client comes");
                assert_eq!((peer.node, stream.peer_addr()), (LpId(1), peer));
                stream.read_to_end(&mut read).await.expect("the client ends its direction");
                log(node, format!("read {}", read.len()));
                node.sleep(Delay::from_secs(1)).await;
                stream.write_all(&bytes(1, 10_000)).await.expect("the client still reads");
                return;
            }
            let stream = TcpStream::connect(&sockets, (SERVER, 80)).await.expect("the server listens");
            log(node, "connected");
            stream.write_all(b"question").await.expect("it is connected");
            stream.shutdown().await.expect("it is connected");
            assert_eq!(stream.write(b"more").await, Err(Error::Closed));
            stream.read_to_end(&mut read).await.expect("the server ends its direction");
            assert!(read == bytes(1, 10_000));
            log(node, "read all");
        })
    };
    let outcome = run_under_all_engines(
        Script { carrier: two(NetworkSettings::default()), settings: Settings::linux(), main },
        200,
    );
    let lines = lines(&outcome);
    // A SYN and its answer have 60 bytes: 48 µs each, and 5 ms of propagation. The acknowledgement of the
    // handshake, 52 bytes, leaves before the question of 60, which the end of the stream follows with 52.
    assert_eq!(lines[0], "0: 15.227 read 8");
    assert_eq!(lines[1], "1: 10.096 connected");
    assert!(lines[2].starts_with("1: 10") && lines[2].ends_with("read all"), "{lines:?}");
}

#[test]
fn a_connection_is_refused_where_nobody_listens_and_reset_where_somebody_gives_up() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                assert_eq!(TcpListener::bind(&sockets, 80).await.err(), Some(Error::AddressInUse(80)));
                // The first stream is reset by the server; the second is dropped with unread bytes.
                let (stream, _) = listener.accept().await.expect("a client comes");
                stream.abort();
                let (stream, _) = listener.accept().await.expect("a client comes");
                node.sleep(Delay::from_ms(100)).await;
                drop(stream);
                // The third has been accepted by nobody when the listener ends.
                node.sleep(Delay::from_ms(100)).await;
                return;
            }
            let refused = TcpStream::connect(&sockets, (SERVER, 81)).await;
            log(node, refused.expect_err("nobody listens"));
            assert_eq!(TcpStream::connect(&sockets, (LpId(7), 80)).await.err(), Some(Error::Unreachable(7)));
            for bytes in [&b""[..], b"unread", b""] {
                let stream = TcpStream::connect(&sockets, (SERVER, 80)).await.expect("the server listens");
                stream.write_all(bytes).await.expect("it is connected");
                let error = stream.read(&mut [0; 10]).await.expect_err("the server gives up");
                assert_eq!(stream.write(b"more").await, Err(error));
                log(node, error);
            }
        })
    };
    let outcome = run_under_all_engines(
        Script { carrier: two(NetworkSettings::default()), settings: Settings::linux(), main },
        5,
    );
    let reset = "the other end has reset the connection";
    let lines = lines(&outcome);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], "1: 10.080 the connection was refused: no socket listens at the address");
    assert!(lines[1..].iter().all(|line| line.ends_with(reset)), "{lines:?}");
}

#[test]
fn a_listener_that_closes_resets_the_connections_that_nobody_has_accepted() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let early = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                let late = TcpListener::bind(&sockets, 81).await.expect("the port is free");
                // A SYN of client n is here after 4 + n ms, and the handshake is over after 3 * (4 + n) ms.
                // So the SYN of clients 1, 3 and 5 have come, but not that of client 7.
                node.sleep(Delay::from_us(9_500)).await;
                drop(early);
                // Client 2 is connected. The handshakes of clients 4, 6 and 8 are not over.
                node.sleep(Delay::from_us(10_500)).await;
                return drop(late);
            }
            let port = if node.id().0.is_multiple_of(2) { 81 } else { 80 };
            let outcome = match TcpStream::connect(&sockets, (SERVER, port)).await {
                Ok(stream) => stream.read(&mut [0; 10]).await.expect_err("nobody accepts"),
                Err(error) => error,
            };
            say(node, outcome);
        })
    };
    let network = NetworkSettings::default();
    let outcome = run_under_all_engines(Script { carrier: star(8, network), settings: Settings::linux(), main }, 100);
    let lines = lines(&outcome);
    let refused: Vec<&String> = lines.iter().filter(|line| line.contains("was refused")).collect();
    assert!(refused.len() == 1 && refused[0].starts_with("7: "), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("has reset the connection")).count(), 7, "{lines:?}");
}

#[test]
fn a_server_may_close_first_and_its_bytes_still_arrive() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let listener = TcpListener::bind(&sockets, 0).await.expect("a port is free");
                assert!(listener.local_addr().port >= 49_152);
                let listener = TcpListener::bind(&sockets, 17).await.expect("the port is free");
                let (stream, _) = listener.accept().await.expect("a client comes");
                stream.write_all(&bytes(5, 200_000)).await.expect("it is connected");
                return; // The stream is dropped while most of its bytes wait in the send buffer.
            }
            let stream = TcpStream::connect(&sockets, (SERVER, 17)).await.expect("the server listens");
            let mut read = Vec::new();
            let mut part = [0; 1000];
            stream.read_exact(&mut part).await.expect("there are more bytes");
            read.extend_from_slice(&part);
            stream.read_to_end(&mut read).await.expect("the server closes in order");
            assert!(read == bytes(5, 200_000));
            assert_eq!(stream.read_exact(&mut [0; 1]).await, Err(Error::UnexpectedEnd));
            say(node, "all");
        })
    };
    let outcome = run_under_all_engines(
        Script { carrier: two(NetworkSettings::default()), settings: Settings::linux(), main },
        200,
    );
    assert_eq!(lines(&outcome), ["1: all"]);
}

#[test]
fn a_connect_to_a_host_that_is_cut_off_times_out_and_a_timeout_of_ones_own_comes_first() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                return;
            }
            let own = select(TcpStream::connect(&sockets, (SERVER, 80)), node.sleep(Delay::from_secs(2))).await;
            assert!(matches!(own, parades_program::Either::Right(())));
            log(node, "gave up");
            let patient = TcpStream::connect(&sockets, (SERVER, 80)).await;
            log(node, patient.expect_err("nothing answers"));
        })
    };
    let settings = Settings { syn_retries: 2, ..Settings::linux() };
    let cut = NetworkSettings { losses: vec![1.0], ..Default::default() };
    let outcome = run_under_all_engines(Script { carrier: two(cut), settings, main }, 100);
    // Timeouts of 1, 2 and 4 s.
    assert_eq!(lines(&outcome), ["1: 2000.000 gave up", "1: 9000.000 the other end does not answer"]);
    // Two SYN of the first connect, three of the second.
    assert_eq!(counter(&outcome, "messages_failed"), 5);
}

#[test]
fn a_wait_that_is_dropped_takes_no_bytes_and_a_slow_reader_holds_up_the_writer() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                let (stream, _) = listener.accept().await.expect("a client comes");
                stream.write_all(&bytes(3, 100_000)).await.expect("the client reads at last");
                return log(node, "written");
            }
            let settings = Settings { receive_buffer: 20_000, ..Settings::linux() };
            let stream = TcpStream::connect_with(&sockets, (SERVER, 80), settings).await.expect("the server listens");
            let mut read = Vec::new();
            let mut buffer = [0; 30_000];
            // The first read is given up before anything arrives.
            let early = node.within(Delay::from_ms(1), stream.read(&mut buffer)).await;
            assert_eq!(early, None);
            node.sleep(Delay::from_secs(10)).await;
            while read.len() < 100_000 {
                let count = stream.read(&mut buffer).await.expect("it is connected");
                read.extend_from_slice(&buffer[..count]);
            }
            assert!(read == bytes(3, 100_000));
            say(node, "all");
        })
    };
    let settings = Settings { send_buffer: 30_000, ..Settings::linux() };
    let outcome = run_under_all_engines(Script { carrier: two(NetworkSettings::default()), settings, main }, 100);
    let lines = lines(&outcome);
    let written: f64 = lines[0].split(' ').nth(1).and_then(|ms| ms.parse().ok()).expect("a time");
    assert!((10_000.0..11_000.0).contains(&written), "{lines:?}");
    assert_eq!(lines[1], "1: all");
}

#[test]
fn who_waits_for_a_socket_in_vain_is_named() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                let _ = listener.accept().await;
            }
        })
    };
    let program = Script { carrier: two(NetworkSettings::default()), settings: Settings::linux(), main };
    let error =
        parades_engine::sequential::run(&parades_program::Processes::new(program), RunOptions::until(Time::MAX));
    let error = error.expect_err("the server waits forever").to_string();
    assert!(
        error.contains("1 process waits for ever") && error.contains("`main` of node 0 waits for a connection"),
        "{error}"
    );
}

#[test]
fn a_backlog_that_is_full_makes_clients_wait_and_ports_are_used_again() {
    let main: Main = |node, sockets| {
        Box::pin(async move {
            if node.id() == SERVER {
                let settings = Settings::linux();
                let listener = TcpListener::bind_with(&sockets, 80, settings, 2).await.expect("the port is free");
                node.sleep(Delay::from_ms(500)).await;
                for _ in 0..5 {
                    let (stream, _) = listener.accept().await.expect("clients come");
                    stream.write_all(b"x").await.expect("it is connected");
                }
                return say(node, format!("{} dropped", sockets.counts().connections_dropped));
            }
            let stream = TcpStream::connect(&sockets, (SERVER, 80)).await.expect("the server listens");
            let mut read = Vec::new();
            assert_eq!(stream.read_to_end(&mut read).await, Ok(1));
            say(node, if node.now() > Time::from_secs(1) { "late" } else { "soon" });
        })
    };
    let outcome = run(Script { carrier: star(5, NetworkSettings::default()), settings: Settings::linux(), main }, 100);
    let lines = lines(&outcome);
    // Two of the five connect at once. The SYN of the other three come again after a second, all together, so
    // that one of them is dropped again.
    assert_eq!(lines[0], "0: 4 dropped");
    assert_eq!(lines[1..].iter().filter(|line| line.ends_with("soon")).count(), 2, "{lines:?}");
}
