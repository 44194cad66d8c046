//! Tests on machines that have no control plane and cannot build one.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::options::Options;
use crate::programs::Programs;
use std::env;
use std::io::{self, Write};

/// If set, nothing is skipped: for machines that are meant to test everything.
const REQUIRED: &str = "KRON_CLUSTER_REQUIRED";

/// A cluster for a test; or none, after having said so where a passing test's output is
/// shown, too. With `KRON_CLUSTER_REQUIRED` set it is an error to have none. Nothing is built
/// here: that takes many minutes, in which a test would seem to hang.
///
/// # Errors
///
/// A cluster does not start though there are programs.
pub fn start_or_skip(test: &str, options: &Options) -> Result<Option<Cluster>, Error> {
    let programs = options.programs.clone().map_or_else(Programs::find, Ok);
    let start = |programs| Cluster::start(&Options { programs: Some(programs), ..options.clone() });
    match programs.and_then(start) {
        Ok(cluster) => Ok(Some(cluster)),
        Err(error) if error.is_missing() && env::var_os(REQUIRED).is_none() => {
            announce(&format!("SKIPPED {test}: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says something on standard error itself, which tests do not capture.
pub fn announce(what: &str) {
    // Nobody may be listening; that is no reason to fail.
    let _ = writeln!(io::stderr(), "kron-cluster: {what}");
}
