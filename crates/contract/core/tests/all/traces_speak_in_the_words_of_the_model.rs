//! Traces call logical processes and events by the names that the model gives them.

use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use std::fmt;

/// LP 0 greets LP 1, which answers to a timer. The names are as hostile as those in a file may be.
struct Greeting {
    names: [Option<&'static str>; 2],
    /// True if LP 1 fails when it hears the greeting.
    fails: bool,
}

impl Model for Greeting {
    type State = ();
    type Message = u32;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        2
    }

    fn channels(&self) -> Channels {
        Channels::whole(Delay::from_ms(1))
    }

    fn start(&self, ctx: &mut Context<'_, Self>) {
        if ctx.id() == LpId(0) {
            ctx.set_timer(TimerId(3), Delay::from_ms(1));
        }
    }

    fn handle(&self, (): &mut (), event: Body<&u32>, ctx: &mut Context<'_, Self>) {
        match event {
            Body::Timer(_) => ctx.send_to(LpId(1), Delay::from_ms(1), 7),
            Body::Message(_) => {
                ctx.note(|| format!("heard by {}", self.names[1].unwrap_or("nobody")));
                if self.fails {
                    ctx.fail("it has heard enough");
                }
            }
        }
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        self.names[lp.index()].map(str::to_owned)
    }

    fn describe(&self, event: &Event<&u32>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &event.body {
            Body::Message(number) => write!(to, "greeting #{number}\nto {}", event.receiver().0),
            Body::Timer(_) => to.write_str("time to greet"),
        }
    }
}

type Ended = Result<Outcome, String>;

fn trace(names: [Option<&'static str>; 2], fails: bool) -> (Vec<String>, Ended) {
    let mut lines = Vec::new();
    let tracer = Tracer::new(TraceFilter::default(), |line| {
        lines.push(line.to_owned());
        Ok(())
    });
    let options = RunOptions { notes: true, tracer: Some(tracer), ..RunOptions::until(Time::from_ms(3)) };
    let model = Greeting { names, fails };
    let outcome = parades_engine::sequential::run(&model, options);
    (lines, outcome.map_err(|error| error.with_names(|lp| model.lp_name(lp)).to_string()))
}

const HOSTILE: [Option<&str>; 2] = [Some("New York"), Some("red \u{1b}[31m")];

#[test]
fn a_line_has_the_names_and_the_description_and_a_terminal_executes_none_of_it() {
    let (lines, _) = trace(HOSTILE, false);
    let expected = [
        "0.001s New York <- New York #0 time to greet",
        "0.002s red \\u{1b}[31m <- New York #1 greeting #7\\nto 1",
        "  | heard by red \\u{1b}[31m",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_lp_without_a_name_is_called_by_its_number() {
    let (lines, _) = trace([None, Some("east.0")], false);
    assert_eq!(lines[..2], ["0.001s LP 0 <- LP 0 #0 time to greet", "0.002s east.0 <- LP 0 #1 greeting #7\\nto 1"]);
}

#[test]
fn an_error_calls_lps_by_their_names() {
    let (lines, ended) = trace(HOSTILE, true);
    assert_eq!(lines.len(), 1, "an event that fails is not committed");
    let error = ended.expect_err("it fails");
    let place = "red \\u{1b}[31m at 0.002s, executing the event from New York #1: it has heard enough; ";
    assert!(error.starts_with(place), "{error}");
}
