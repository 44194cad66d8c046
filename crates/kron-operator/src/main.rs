//! The program: see the library.

fn main() -> std::process::ExitCode {
    kron_operator::start::main().into()
}
