//! HTTP: a server and three clients that speak a small part of HTTP/1.1.
//!
//! *Covers*: streams that are read line by line, connections that are kept open, requests in a pipeline.
//!
//! *Scenario*: a server has pages of any length: `/5000` has 5000 bytes. One client asks for one page after
//! the other over one connection. One sends three requests at once. One asks for a page that there is not,
//! and lets the server close.

use parades::carriers::PacketLevel;
use parades::packet::{network::Settings as Network, plane::Plane};
use parades::prelude::*;
use parades::program::{Node, Processes, Program, Start};
use parades::sockets::{Error, Packet, Sockets, TcpListener, TcpStream};
use parades::tcp::settings::Settings;
use parades::topology::{Link, NodeId, Topology};

const SERVER: LpId = LpId(0);

struct Web {
    carrier: PacketLevel<Packet>,
}

const METRICS: Declared<1> = Declared::new([Declaration::table("log", &[("line", Unit::Count)])]);
const LOG: TableId = METRICS.table("log");

impl Program for Web {
    type Message = Packet;
    type State = Vec<String>;
    type Carrier = PacketLevel<Packet>;

    fn nodes(&self) -> u32 {
        4
    }

    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        let sockets = Sockets::start(start, Settings::linux());
        match start.id() {
            SERVER => {
                start.spawn("server", |node| async move { serve(node, sockets).await.expect("the port is free") })
            }
            _ => start.spawn("client", |node| async move { browse(node, sockets).await.expect("the server answers") }),
        }
        Vec::new()
    }

    fn finish(&self, _: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(LOG, [Cell::Text(line.as_str().into())]);
        }
    }
}

/// A stream that is read line by line.
struct Lines {
    stream: TcpStream,
    /// Bytes that have been read and not used.
    ahead: Vec<u8>,
}

impl Lines {
    fn new(stream: TcpStream) -> Lines {
        Lines { stream, ahead: Vec::new() }
    }

    async fn fill(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).await?;
        self.ahead.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// Returns the lines up to an empty one; `None` at the end of the stream.
    async fn head(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(end) = self.ahead.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = self.ahead.drain(..end + 4).collect::<Vec<u8>>();
                return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    async fn body(&mut self, bytes: usize) -> Result<(), Error> {
        while self.ahead.len() < bytes {
            if !self.fill().await? {
                return Err(Error::UnexpectedEnd);
            }
        }
        self.ahead.drain(..bytes);
        Ok(())
    }
}

async fn serve(node: Node<Web>, sockets: Sockets) -> Result<(), Error> {
    let listener = TcpListener::bind(&sockets, 80).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        node.spawn("connection", |_| answer_all(Lines::new(stream)));
    }
}

/// Answers one request after the other, until the client closes or asks the server to close.
async fn answer_all(mut lines: Lines) -> Result<(), Error> {
    while let Some(request) = lines.head().await? {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let (status, bytes) = match path.trim_start_matches('/').parse::<usize>() {
            Ok(bytes) => ("200 OK", bytes),
            Err(_) => ("404 Not Found", 0),
        };
        // One write, since Nagle's algorithm would hold a second small one back for a round trip.
        let mut response = format!("HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
        response.resize(response.len() + bytes, b'.');
        lines.stream.write_all(&response).await?;
        if request.contains("Connection: close") {
            break;
        }
    }
    Ok(())
}

/// Reads a response, and adds a line to the log.
async fn response(node: Node<Web>, lines: &mut Lines) -> Result<(), Error> {
    let head = lines.head().await?.ok_or(Error::UnexpectedEnd)?;
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let bytes = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    lines.body(bytes).await?;
    let (me, now, status) = (node.id().0, node.now(), head.lines().next().unwrap_or_default());
    node.with_state(|log| log.push(format!("client {me} at {now}: {status}, {bytes} bytes")));
    Ok(())
}

async fn browse(node: Node<Web>, sockets: Sockets) -> Result<(), Error> {
    let mut lines = Lines::new(TcpStream::connect(&sockets, (SERVER, 80)).await?);
    match node.id().0 {
        1 => {
            for page in ["/1000", "/20000", "/300"] {
                lines.stream.write_all(format!("GET {page} HTTP/1.1\r\n\r\n").as_bytes()).await?;
                response(node, &mut lines).await?;
            }
        }
        2 => {
            let pages = ["/1000", "/20000", "/300"].map(|page| format!("GET {page} HTTP/1.1\r\n\r\n"));
            lines.stream.write_all(pages.concat().as_bytes()).await?;
            for _ in pages {
                response(node, &mut lines).await?;
            }
        }
        _ => {
            lines.stream.write_all(b"GET /index.html HTTP/1.1\r\nConnection: close\r\n\r\n").await?;
            response(node, &mut lines).await?;
            let (end, now) = (lines.head().await?, node.now());
            node.with_state(|log| log.push(format!("client 3 at {now}: end of stream: {}", end.is_none())));
        }
    }
    Ok(())
}

/// Runs the example under two engines, which agree. Returns its output.
pub(crate) fn run() -> Result<String, Box<dyn std::error::Error>> {
    let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 10_000_000, delay: Delay::from_ms(10) };
    let topology =
        Topology::new(&["server", "one", "two", "three", "switch"], (0..4).map(|node| link(node, 4)).collect())?;
    let plane = Plane::new(topology, &[0, 1, 2, 3].map(NodeId), Network::default())?;
    let model = Processes::new(Web { carrier: PacketLevel::new(plane, Packet::FORMAT)? });
    let options = || RunOptions::until(Time::from_secs(100));
    let outcome = parades::sequential::run(&model, options())?;
    let other = parades::null_message::run(&model, options(), &parades::null_message::Settings::of_threads(2))?;
    assert_eq!(outcome.digest, other.digest);
    let log = outcome.metrics.get("log").and_then(|log| log.table()).map(|log| log.rows()).unwrap_or_default();
    let lines = log.iter().filter_map(|row| match &row[0] {
        Cell::Text(line) => Some(format!("{line}\n")),
        _ => None,
    });
    Ok(lines.collect())
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
