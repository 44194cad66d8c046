//! The program `krond`; everything is in the library.

fn main() {}
