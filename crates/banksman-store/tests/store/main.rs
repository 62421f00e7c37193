//! The stores, tried by the conformance suite.
