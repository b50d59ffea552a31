//! Settings of a connection: every choice that the RFCs leave open, and every deviation from them.
