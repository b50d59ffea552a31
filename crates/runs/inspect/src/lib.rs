//! What a run did, looked at.
//!
//! - [`timeline`]: a run as a trace that <https://ui.perfetto.dev> and `chrome://tracing` show: virtual time by LP, messages as arrows, and what workers spent
//!   their wall time on.
//! - [`cause`]: the chain of events that led to a given one.
//! - [`recorded`]: two runs written down as folders of files, and where they part.
//!
//! Nothing here knows an engine: it is all made from what engines tell a [`parades_core::trace::Tracer`], and from files.

#![forbid(unsafe_code)]

pub mod cause;
pub mod recorded;
pub mod timeline;
