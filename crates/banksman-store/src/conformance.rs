//! The conformance suite
