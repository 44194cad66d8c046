//! Builds the programs with Go, once per machine, into the user's cache directory.
//!
//! What is built is two Go modules below `go/`, which consist of versions and checksums
//! only. Their contents name the destination, so that other versions are other programs.

use crate::error::Error;
use crate::process::last_lines;
use crate::programs::{API_SERVER, CONTROLLER_MANAGER, ETCD, HELM, KUBECTL, VERSION};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Go module: its name, `go.mod` and `go.sum`.
type Module = (&'static str, &'static str, &'static str);

const CONTROL_PLANE: Module = (
    "control-plane",
    include_str!("../go/control-plane/go.mod"),
    include_str!("../go/control-plane/go.sum"),
);
/// Of its own, because it wants other versions of the libraries that both use.
const HELM_MODULE: Module =
    ("helm", include_str!("../go/helm/go.mod"), include_str!("../go/helm/go.sum"));

const ETCD_PACKAGE: &str = "go.etcd.io/etcd/server/v3";
const HELM_PACKAGE: &str = "helm.sh/helm/v4";
/// Begins the name of a directory in which somebody is building, or was interrupted.
const UNFINISHED: &str = "building-";

/// Where built programs are, or will be.
pub fn destination() -> Result<PathBuf, Error> {
    let mut hash = Sha256::new();
    for (_, requirements, sums) in [CONTROL_PLANE, HELM_MODULE] {
        hash.update(requirements);
        hash.update(sums);
    }
    let hash = hash.finalize();
    let name = format!("{VERSION}-{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3]);
    Ok(cache()?.join(name))
}

fn cache() -> Result<PathBuf, Error> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("kron/cluster"))
        .ok_or_else(|| Error::missing("neither XDG_CACHE_HOME nor HOME is set"))
}

/// Builds all programs, unless another process has done so when it is our turn.
pub fn build(
    destination: &Path,
    progress: &dyn Fn(&str),
    is_done: impl Fn() -> bool,
) -> Result<(), Error> {
    // Before anything is made: without Go there is nothing to be done.
    go_version()?;
    let cache = cache()?;
    fs::create_dir_all(&cache)
        .map_err(Error::io(format_args!("cannot make `{}`", cache.display())))?;
    let _lock = lock(&cache.join("lock"), progress)?;
    if is_done() {
        return Ok(());
    }
    remove_unfinished(&cache);
    let place = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(&cache)
        .map_err(Error::io(format_args!("cannot write to `{}`", cache.display())))?;
    let programs = place.path().join("bin");
    fs::create_dir(&programs).map_err(Error::io("cannot make a directory"))?;
    build_control_plane(place.path(), &programs, progress)?;
    build_helm(place.path(), &programs, progress)?;
    // An incomplete directory of an earlier time would be in the way.
    let _ = fs::remove_dir_all(destination);
    fs::rename(&programs, destination)
        .map_err(Error::io(format_args!("cannot make `{}`", destination.display())))
}

fn build_control_plane(
    place: &Path,
    programs: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), Error> {
    let module = unpack(place, CONTROL_PLANE)?;
    let etcd = required(CONTROL_PLANE, ETCD_PACKAGE)?;
    progress(&format!("building etcd {etcd}"));
    go_build(&module, &programs.join(ETCD), "", &[ETCD_PACKAGE.into()])?;
    progress(&format!("building Kubernetes {VERSION}: 17 CPU minutes, 3 GB of disk, once"));
    let mut numbers = VERSION.split('.');
    let variables = [
        ("gitVersion", format!("v{VERSION}")),
        ("gitMajor", numbers.next().unwrap_or_default().into()),
        ("gitMinor", numbers.next().unwrap_or_default().into()),
    ]
    .map(|(name, value)| format!("-X k8s.io/component-base/version.{name}={value}"));
    let packages = [API_SERVER, CONTROLLER_MANAGER, KUBECTL]
        .map(|name| format!("k8s.io/kubernetes/cmd/{name}"));
    // The slash: a directory, each program below its own name.
    go_build(&module, &programs.join(""), &variables.join(" "), &packages)
}

fn build_helm(place: &Path, programs: &Path, progress: &dyn Fn(&str)) -> Result<(), Error> {
    let module = unpack(place, HELM_MODULE)?;
    let version = required(HELM_MODULE, HELM_PACKAGE)?;
    progress(&format!("building Helm {version}"));
    let variable = format!("-X {HELM_PACKAGE}/internal/version.version={version}");
    go_build(&module, &programs.join(HELM), &variable, &[format!("{HELM_PACKAGE}/cmd/helm")])
}

/// The version of a package that a module requires.
fn required((module, requirements, _): Module, package: &str) -> Result<&'static str, Error> {
    requirements
        .lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .find_map(|line| line.strip_prefix(package)?.strip_prefix(' ')?.split(' ').next())
        .ok_or_else(|| Error::failed(format!("module `{module}` does not require `{package}`")))
}

fn unpack(place: &Path, (name, requirements, sums): Module) -> Result<PathBuf, Error> {
    let directory = place.join(name);
    fs::create_dir(&directory)
        .and_then(|()| fs::write(directory.join("go.mod"), requirements))
        .and_then(|()| fs::write(directory.join("go.sum"), sums))
        .map_err(Error::io(format_args!("cannot write to `{}`", directory.display())))?;
    Ok(directory)
}

fn go_version() -> Result<(), Error> {
    match Command::new("go").arg("version").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Error::missing(format!(
            "`go version` fails{}",
            last_lines(&String::from_utf8_lossy(&output.stderr))
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::missing("there is no control plane, and Go is not here to build one"))
        }
        Err(error) => Err(Error::missing(format!("cannot run `go`: {error}"))),
    }
}

fn go_build(
    module: &Path,
    output: &Path,
    variables: &str,
    packages: &[String],
) -> Result<(), Error> {
    let output = Command::new("go")
        .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"])
        .arg(format!("-ldflags=-s -w {variables}"))
        .arg("-o")
        .arg(output)
        .args(packages)
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .output()
        .map_err(Error::io("cannot run `go build`"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::missing(format!(
        "cannot build {}: {}{}",
        packages.join(", "),
        output.status,
        last_lines(&String::from_utf8_lossy(&output.stderr))
    )))
}

/// Keeps other processes from building the same at the same time.
fn lock(path: &Path, progress: &dyn Fn(&str)) -> Result<Flock<File>, Error> {
    let failed = |errno: Errno| Error::failed(format!("cannot lock `{}`: {errno}", path.display()));
    let file =
        File::create(path).map_err(Error::io(format_args!("cannot write `{}`", path.display())))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err((file, Errno::EWOULDBLOCK)) => {
            progress("another process is building; waiting for it");
            Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| failed(errno))
        }
        Err((_, errno)) => Err(failed(errno)),
    }
}

/// Removes what an interrupted build left; called with the lock held.
fn remove_unfinished(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTROL_PLANE, ETCD_PACKAGE, HELM_MODULE, HELM_PACKAGE, VERSION, required};

    #[test]
    fn modules_require_what_is_built() {
        let kubernetes = required(CONTROL_PLANE, "k8s.io/kubernetes").unwrap();
        assert_eq!(kubernetes, format!("v{VERSION}"));
        assert!(required(CONTROL_PLANE, ETCD_PACKAGE).unwrap().starts_with("v3."));
        assert!(required(HELM_MODULE, HELM_PACKAGE).unwrap().starts_with("v4."));
        assert!(required(HELM_MODULE, "example.org/none").is_err());
    }

    /// Parts of one release: all of them, or they do not fit together.
    #[test]
    fn every_part_of_kubernetes_is_of_the_release() {
        let version = VERSION.replacen('1', "v0", 1);
        let parts: Vec<&str> = CONTROL_PLANE.1.lines().filter(|line| line.contains("=>")).collect();
        assert!(parts.len() > 30, "{}", parts.len());
        for part in parts {
            assert!(part.ends_with(&version), "{part} is not {version}");
        }
    }
}
