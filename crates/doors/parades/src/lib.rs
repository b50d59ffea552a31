#![doc = include_str!("../../../../README.md")]
#![forbid(unsafe_code)]

mod engine;

pub use engine::{Engine, UnknownEngine};

pub use parades_carriers as carriers;
pub use parades_core as core;
pub use parades_core::prelude;
pub use parades_engine::{auto, null_message, rollback_check, rounds, sequential, time_warp, window};
pub use parades_flow as flow;
pub use parades_models as models;
pub use parades_p2p as p2p;
pub use parades_packet as packet;
pub use parades_program as program;
pub use parades_report as report;
pub use parades_session as session;
pub use parades_topology as topology;
