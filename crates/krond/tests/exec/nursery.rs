//! A nursery that fails.

use crate::support::{Host, order, shell, wait_for};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::fs;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// A nursery that makes a process, and dies before it says so. The process takes
/// down what comes through its gate.
#[test]
#[ignore = "started by `a_gate_is_not_used_again`"]
fn one_that_dies() {
    let Some(taken) = std::env::var_os("KROND_TEST_TAKEN") else { return };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    recvmsg(rustix::stdio::stdin(), &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let mut gates: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            gates.extend(rights);
        }
    }
    let mut stray = Command::new("/bin/sh");
    stray.args(["-c", "cat > \"$0.part\"; mv \"$0.part\" \"$0\""]).arg(taken);
    stray.stdin(gates.remove(0)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::process::exit(1);
}

/// FAULTS 25: after a nursery failed, nobody knows who is at the gate it was given. It is
/// closed, and the start is tried again with another: nothing runs twice.
#[test]
fn a_gate_is_not_used_again() {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "if ! test -e \"$0.died\"; then : > \"$0.died\"; \
         KROND_TEST_TAKEN=\"$0.taken\" exec {} --exact nursery::one_that_dies --ignored > /dev/null 2>&1; fi; \
         exec \"$KROND\" \"$@\"",
        this.display()
    );
    let host = Host::through(&script);
    let job = || shell(&format!("echo ran >> {}", host.path("ran")));
    let refusal = host.try_prepare(order(job())).unwrap_err();
    assert!(refusal.is_transient(), "{refusal}");
    let taken = wait_for("the end of the stray process", || fs::read(host.at("daemon.taken")).ok());
    assert_eq!(String::from_utf8_lossy(&taken), "", "a plan went to nobody knows whom");
    assert_eq!(host.run(job()).0.code, 0);
    assert_eq!(host.read("ran"), "ran\n");
}
