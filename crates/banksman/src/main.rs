//! banksman
fn main() {}
