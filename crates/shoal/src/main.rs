//! shoal.
fn main() {}
