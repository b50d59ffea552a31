//! An engine of any kind, with its settings: a value.

use crate::auto::{self, Changes, Suits};
use crate::{null_message, rounds, sequential, time_warp, window};
use parades_core::any_model::{AnyModel, AnyRestorable};
use parades_core::cut::{Reached, Span};
use parades_core::error::{Error, ErrorKind};

/// An engine that can go on from a cut, with its settings. The choice changes the duration of a run, and
/// nothing else.
#[derive(Clone, Copy, Debug)]
pub enum AnyEngine {
    /// The engine that suits the model, on at most this number of threads ([`auto::advise`]), and then another
    /// one if that is measured to be faster ([`auto::advance`]).
    Auto {
        /// The greatest number of threads.
        threads: usize,
    },
    /// [`sequential`].
    Sequential,
    /// [`rounds`].
    Rounds(rounds::Settings),
    /// [`window`].
    Window(window::Settings),
    /// [`null_message`].
    NullMessage(null_message::Settings),
    /// [`time_warp`].
    TimeWarp(time_warp::Settings),
}

impl AnyEngine {
    /// Returns the name of the engine, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            AnyEngine::Auto { .. } => "auto",
            AnyEngine::Sequential => "sequential",
            AnyEngine::Rounds(_) => "rounds",
            AnyEngine::Window(_) => "window",
            AnyEngine::NullMessage(_) => "null-message",
            AnyEngine::TimeWarp(_) => "time-warp",
        }
    }

    /// Returns true if the engine rolls executions back, so that a model must say how its states are
    /// restored.
    pub fn rolls_back(&self) -> bool {
        matches!(self, AnyEngine::TimeWarp(_))
    }

    /// Runs a span of a run: from its start or a cut, to the next cut at which it ends, or to its end.
    /// `restorable` is the same model, if its states can be restored.
    ///
    /// # Errors
    ///
    /// Those of the engine. Also an error if it rolls back, and the states cannot be restored.
    pub fn advance<'k>(
        &self,
        model: &'k dyn AnyModel<'k>,
        restorable: Option<&'k dyn AnyRestorable<'k>>,
        span: Span<'k>,
    ) -> Result<Reached<'k>, Error> {
        match self {
            AnyEngine::Auto { threads } => {
                let copies = restorable.is_some_and(|restorable| restorable.copies());
                let advice = auto::advise_any(model, &span.options, *threads, copies);
                let engines: Vec<_> =
                    std::iter::once(advice.engine).chain(advice.rivals).map(AnyEngine::from).collect();
                auto::advance(model, restorable, span, &engines, Changes::WhereFaster)
            }
            AnyEngine::Sequential => sequential::advance(model, span),
            AnyEngine::Rounds(settings) => rounds::advance(model, span, settings),
            AnyEngine::Window(settings) => window::advance(model, span, settings),
            AnyEngine::NullMessage(settings) => null_message::advance(model, span, settings),
            AnyEngine::TimeWarp(settings) => match restorable {
                Some(restorable) => time_warp::advance(restorable, span, settings),
                None => {
                    let what = "the engine `time-warp` rolls back, and the state of this model cannot be restored";
                    Err(Error::new(ErrorKind::Model(what.into())))
                }
            },
        }
    }
}

impl From<Suits> for AnyEngine {
    fn from(engine: Suits) -> AnyEngine {
        match engine {
            Suits::Sequential => AnyEngine::Sequential,
            Suits::Window { threads, shared } => {
                let mut settings = window::Settings::of_threads(threads);
                if shared {
                    settings.dedicated = 0.0;
                }
                AnyEngine::Window(settings)
            }
            Suits::TimeWarp { threads } => AnyEngine::TimeWarp(time_warp::Settings::of_threads(threads)),
            Suits::NullMessage { threads } => AnyEngine::NullMessage(null_message::Settings::of_threads(threads)),
        }
    }
}
