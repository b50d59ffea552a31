//! An application over TCP: a client asks for pages of random sizes, one after the other, over one
//! connection.

use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_packet::description::AppKind;
use parades_packet::protocols::stream::{OtherStream, StreamEnd, StreamIo};
use parades_tcp::settings::Settings;

/// Asks for a page, reads it, thinks, and asks again. A request has as many bytes as the page has kilobytes,
/// so the server knows what is asked.
#[derive(Clone, Debug)]
struct Client {
    pages: u32,
    /// The bytes of the page that have not arrived.
    left: u64,
    asked: Time,
}

/// Answers each byte of a request with a kilobyte.
#[derive(Clone, Debug)]
struct Server;

/// Returns the application for apps.
pub(crate) fn kind(pages: u32, settings: Settings) -> AppKind {
    let client = Client { pages, left: 0, asked: Time::ZERO };
    AppKind::Stream(Box::new(OtherStream::new("pages", settings, client, Server)))
}

impl StreamEnd for Client {
    fn on_connected(&mut self, io: &mut dyn StreamIo) {
        self.on_timer(0, io);
    }

    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        self.left -= bytes;
        if self.left == 0 {
            io.observe(io.now().since(self.asked));
            let pause = io.rng().exponential_delay(Delay::from_ms(50));
            io.set_timer(0, pause);
        }
    }

    fn on_timer(&mut self, _: u32, io: &mut dyn StreamIo) {
        if self.pages == 0 {
            return io.close();
        }
        self.pages -= 1;
        let kilobytes = 1 + io.rng().below(50);
        (self.left, self.asked) = (kilobytes * 1000, io.now());
        io.write(kilobytes);
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        [u64::from(self.pages), self.left, self.asked.as_ps()].into_iter().for_each(|word| digest.word(word));
    }
}

impl StreamEnd for Server {
    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        io.write(bytes * 1000);
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}
}
