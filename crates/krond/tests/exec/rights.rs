//! Whose process it is.

use crate::support::{Host, is_root, order, plan, skip};
use kron_host::launch::{Ids, LaunchError, Plan, Step};
use krond::exec::Report;
use nix::errno::Errno;

pub fn nobody() -> Ids {
    Ids { uid: 65534, gid: 65534, groups: vec![65534] }
}

/// EXE-10, FAULTS 32: all ids are changed, groups are exactly those given, and
/// there is no capability left nor a way back.
#[test]
fn somebody_else() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let ids = Some(Ids { uid: 65534, gid: 65533, groups: vec![1, 65533] });
    let status = host.output(Plan { ids: ids.clone(), ..plan(&["/bin/cat", "/proc/self/status"]) });
    let words = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(words("Uid:"), ["65534"; 4]);
    assert_eq!(words("Gid:"), ["65533"; 4]);
    assert_eq!(words("Groups:"), ["1", "65533"]);
    for key in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(words(key), ["0000000000000000"], "{key}");
    }
    // No way back.
    let back = plan(&["/usr/bin/setpriv", "--reuid=0", "/bin/echo", "root again"]);
    let (exit, output) = host.run(Plan { ids, ..back });
    assert_ne!(exit.code, 0);
    assert!(!output.contains("root again\n"), "{output}");
}

/// EXE-11, EXE-12, FAULTS 33: a daemon that may not take on the ids runs
/// nothing, above all not as itself.
#[test]
fn not_permitted() {
    if !is_root() {
        return;
    }
    let host =
        Host::through("exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$KROND\" \"$@\"");
    let touch = || plan(&["/usr/bin/touch", &host.path("ran")]);
    for ids in [
        Ids { uid: 0, gid: 0, groups: vec![0] },
        Ids { uid: 1, gid: 65534, groups: vec![65534] },
        nobody(),
    ] {
        let plan = Plan { ids: Some(ids), ..touch() };
        let expected = LaunchError { step: Step::Groups, errno: Errno::EPERM };
        assert_eq!(host.failure(order(plan)), Report::Failed(expected));
    }
    assert!(!host.at("ran").exists());
    host.output(touch());
    assert!(host.at("ran").exists());
}

/// EXE-11: also if only the last step, the user, is refused.
#[test]
fn no_user() {
    if !is_root() {
        return;
    }
    let host = Host::through("exec setpriv --bounding-set=-setuid \"$KROND\" \"$@\"");
    let touch = plan(&["/usr/bin/touch", &host.path("ran")]);
    let report = host.failure(order(Plan { ids: Some(nobody()), ..touch }));
    let expected = LaunchError { step: Step::User, errno: Errno::EPERM };
    assert_eq!(report, Report::Failed(expected));
    assert!(!host.at("ran").exists());
}

/// A job of somebody else has not the keys of whoever started the daemon.
#[test]
fn no_keys_of_others() {
    if !is_root() {
        return;
    }
    // Of this thread, and of those that it starts.
    let Some(keyring) = kron_host::keyring::leave().unwrap() else {
        skip("no keyrings here");
        return;
    };
    let host = Host::new();
    let keys = || plan(&["/bin/cat", "/proc/keys"]);
    let ours = format!("{keyring:08x} ");
    let handed_down = host.output(keys());
    assert!(handed_down.contains(&ours), "{handed_down}");
    let theirs = host.output(Plan { ids: Some(nobody()), ..keys() });
    assert!(!theirs.contains(&ours), "{theirs}");
}
