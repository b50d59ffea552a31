//! Sockets that wait for TCP connections.

use crate::address::Address;
use crate::error::Error;
use crate::sockets::Sockets;
use crate::stream::TcpStream;
use parades_tcp::settings::Settings;
use std::future::poll_fn;
use std::sync::Arc;

/// The greatest number of connections that wait to be accepted, unless [`TcpListener::bind_with`] has
/// another.
pub const BACKLOG: usize = 1024;

/// A socket that waits for TCP connections. When it is dropped, its port is free again, and connections that
/// no process has accepted are reset.
#[derive(Debug)]
pub struct TcpListener {
    sockets: Sockets,
    port: u16,
}

impl TcpListener {
    /// Listens at a port of the node, or at a free one if `port` is 0. Connections have the settings of the
    /// node's sockets.
    ///
    /// # Errors
    ///
    /// If another listener of the node has the port, or none is free.
    pub async fn bind(sockets: &Sockets, port: u16) -> Result<TcpListener, Error> {
        TcpListener::listen(sockets, port, sockets.settings(), BACKLOG)
    }

    /// Listens with settings of its own. A SYN that finds `backlog` connections waiting is dropped.
    ///
    /// # Errors
    ///
    /// As [`TcpListener::bind`].
    pub async fn bind_with(
        sockets: &Sockets,
        port: u16,
        settings: Settings,
        backlog: usize,
    ) -> Result<TcpListener, Error> {
        TcpListener::listen(sockets, port, Arc::new(settings), backlog)
    }

    fn listen(sockets: &Sockets, port: u16, settings: Arc<Settings>, backlog: usize) -> Result<TcpListener, Error> {
        let port = sockets.with(|table| table.listen(port, settings, backlog))?;
        Ok(TcpListener { sockets: sockets.clone(), port })
    }

    /// Returns the address of the listener.
    pub fn local_addr(&self) -> Address {
        Address { node: self.sockets.with(|table| table.node), port: self.port }
    }

    /// Waits for a connection. Returns its stream, and the address of the other end.
    pub async fn accept(&self) -> Result<(TcpStream, Address), Error> {
        let (name, peer) = poll_fn(|context| {
            let polled = self.sockets.with(|table| table.poll_accept(self.port, context));
            if polled.is_pending() {
                parades_program::waits_for("a connection");
            }
            polled
        })
        .await;
        Ok((TcpStream::new(self.sockets.clone(), name), peer))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.sockets.with(|table| table.stop_listening(self.port));
    }
}
