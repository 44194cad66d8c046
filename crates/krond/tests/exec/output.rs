//! Where output goes, except to a log.

use crate::rights::nobody;
use crate::support::{Host, is_root, order, plan, set_mode, shell, write};
use kron_host::launch::{LaunchError, Plan, Step};
use krond::exec::{Order, Report, Target};
use nix::errno::Errno;
use nix::sys::stat::Mode;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

fn to(stdout: Target, stderr: Target, plan: Plan) -> Order {
    order(plan).output(stdout, stderr)
}

/// EXE-25: without a setting, output is where the daemon's is.
#[test]
fn inherited() {
    let host = Host::through("exec \"$KROND\" \"$@\" >>\"$0.out\" 2>>\"$0.err\"");
    host.run_order(order(shell("echo out; echo err >&2")));
    assert_eq!(host.read("daemon.out"), "out\n");
    assert_eq!(host.read("daemon.err"), "err\n");
}

/// EXE-26: each of the two goes its own way.
#[test]
fn apart() {
    let host = Host::through("exec \"$KROND\" \"$@\" >>\"$0.out\" 2>>\"$0.err\"");
    let file = Target::File(host.path("file"));
    let both = || shell("echo out; echo err >&2");
    host.run_order(to(file.clone(), Target::Discard, both()));
    assert_eq!(host.read("file"), "out\n");
    host.run_order(to(Target::Discard, file, both()));
    assert_eq!(host.read("file"), "out\nerr\n");
    host.run_order(to(Target::Inherit, Target::Discard, both()));
    assert_eq!((host.read("daemon.out"), host.read("daemon.err")), ("out\n".into(), String::new()));
}

/// EXE-26, EXE-28: one path for both is one open file; runs append; and an
/// ordinary file is what the command sees.
#[test]
fn one_file() {
    let host = Host::new();
    let file = Target::File(host.path("file"));
    for _ in 0..2 {
        host.run_order(to(file.clone(), file.clone(), shell("echo 1; echo 2 >&2; echo 3")));
    }
    assert_eq!(host.read("file"), "1\n2\n3\n1\n2\n3\n");
    let info = host.output(plan(&["/bin/cat", "/proc/self/fdinfo/1"]));
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:\t")).unwrap();
    // Appending, writing only; not O_NONBLOCK.
    assert_eq!(u32::from_str_radix(flags, 8).unwrap() & 0o6003, 0o2001, "{flags}");
}

/// EXE-28: the file is there also if the command cannot be executed.
#[test]
fn a_file_of_nothing() {
    let host = Host::new();
    write(&host.at("format"), 0o755, "no program\n");
    let target = Target::File(host.path("file"));
    let exit = host.run_order(to(target, Target::Inherit, plan(&[&host.path("format")])));
    assert_eq!(exit.code, 126);
    assert_eq!(host.read("file"), "");
}

/// EXE-13, FAULTS 28: opened as the job's user, with the job's mask.
#[test]
fn whose_file() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let plan = Plan { ids: Some(nobody()), umask: Some(0o027), ..plan(&["/bin/true"]) };
    host.run_order(to(Target::File(host.path("file")), Target::Inherit, plan));
    let metadata = fs::metadata(host.at("file")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
}

/// FAULTS 28: what is no file, or not the user's to write, is an error of that
/// job, at once, and nothing runs.
#[test]
fn no_file() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    fs::write(host.at("real"), "").unwrap();
    symlink(host.at("real"), host.at("link")).unwrap();
    fs::create_dir(host.at("directory")).unwrap();
    nix::unistd::mkfifo(&host.at("fifo"), Mode::from_bits_truncate(0o666)).unwrap();
    nix::unistd::mkfifo(&host.at("read-fifo"), Mode::from_bits_truncate(0o666)).unwrap();
    let mut reading = fs::OpenOptions::new();
    let _reader = reading.read(true).write(true).open(host.at("read-fifo")).unwrap();
    let _socket = UnixListener::bind(host.at("socket")).unwrap();
    for name in ["directory", "fifo", "read-fifo", "socket"] {
        set_mode(&host.at(name), 0o777);
    }
    fs::create_dir(host.at("private")).unwrap();
    set_mode(&host.at("private"), 0o700);
    for (name, errno) in [
        ("link", Errno::ELOOP),
        ("directory", Errno::EISDIR),
        ("fifo", Errno::ENXIO),
        ("read-fifo", Errno::ENXIO),
        ("socket", Errno::ENXIO),
        ("missing/file", Errno::ENOENT),
        ("real/file", Errno::ENOTDIR),
        ("real", Errno::EACCES),
        ("private/file", Errno::EACCES),
    ] {
        let file = || Target::File(host.path(name));
        let touch = || Plan { ids: Some(nobody()), ..plan(&["/usr/bin/touch", &host.path("ran")]) };
        let failed = |step| Report::Failed(LaunchError { step, errno });
        let report = host.failure(to(file(), Target::Inherit, touch()));
        assert_eq!(report, failed(Step::Stdout), "{name}");
        let report = host.failure(to(Target::Discard, file(), touch()));
        assert_eq!(report, failed(Step::Stderr), "{name}");
    }
    assert!(!host.at("ran").exists());
    assert_eq!(host.read("real"), "");
    // A device is fine.
    host.run_order(to(Target::File("/dev/null".into()), Target::Inherit, plan(&["/bin/true"])));
}
