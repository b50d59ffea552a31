//! The synchronisation engines. Each decides *when* [`parades_core::lp::Lp::execute`] is called, and nothing else.

pub mod pending;
pub mod rollback_check;
pub mod sequential;
