//! Where the programs are: given by the user, built earlier, or built now.

use crate::build;
use crate::error::Error;
use std::env;
use std::path::{Path, PathBuf};

/// The release of Kubernetes that is built.
pub const VERSION: &str = "1.36.4";

/// Names a directory with all programs, and is the only place looked into.
const GIVEN: &str = "KRON_CLUSTER_BIN";
/// Where other projects' tests have theirs. Often without a controller manager; such a
/// directory is passed over.
const SHARED: &str = "KUBEBUILDER_ASSETS";

pub(crate) const ETCD: &str = "etcd";
pub(crate) const API_SERVER: &str = "kube-apiserver";
pub(crate) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
pub(crate) const KUBECTL: &str = "kubectl";
pub(crate) const HELM: &str = "helm";
const NEEDED: [&str; 4] = [ETCD, API_SERVER, CONTROLLER_MANAGER, KUBECTL];

/// A directory with the programs of a control plane.
#[derive(Clone, Debug)]
pub struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// Looks into `KRON_CLUSTER_BIN`, `KUBEBUILDER_ASSETS` and the user's cache.
    ///
    /// # Errors
    ///
    /// There are none; see [`Error::is_missing`].
    pub fn find() -> Result<Self, Error> {
        if let Some(directory) = directory_of(GIVEN) {
            return Self::at(directory)
                .map_err(|name| Error::missing(format!("there is no `{name}` in {GIVEN}")));
        }
        if let Some(programs) = directory_of(SHARED).and_then(|path| Self::at(path).ok()) {
            return Ok(programs);
        }
        Self::at(build::destination()?).map_err(|_| {
            Error::missing(format!(
                "there is no control plane: `kron-cluster build` makes one, and {GIVEN} may \
                 name a directory with {}",
                NEEDED.join(", ")
            ))
        })
    }

    /// The same; if there are none, builds them, which takes ten minutes or more, once.
    /// `progress` hears what is being done.
    ///
    /// # Errors
    ///
    /// There are none and they cannot be built; see [`Error::is_missing`].
    pub fn find_or_build(progress: &dyn Fn(&str)) -> Result<Self, Error> {
        match Self::find() {
            Err(error) if error.is_missing() && directory_of(GIVEN).is_none() => {
                let directory = build::destination()?;
                build::build(&directory, progress, || Self::at(directory.clone()).is_ok())?;
                Self::find()
            }
            found => found,
        }
    }

    /// Where they are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Helm; from the cache or the user's PATH if it is not beside the others.
    #[must_use]
    pub fn helm(&self) -> PathBuf {
        let beside = self.directory.join(HELM);
        let built = build::destination().map(|directory| directory.join(HELM));
        [Ok(beside), built]
            .into_iter()
            .flatten()
            .find(|path| path.is_file())
            .unwrap_or_else(|| HELM.into())
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Those of a directory, or the name of one that is not there.
    fn at(directory: PathBuf) -> Result<Self, &'static str> {
        match NEEDED.into_iter().find(|name| !directory.join(name).is_file()) {
            Some(missing) => Err(missing),
            None => Ok(Self { directory }),
        }
    }
}

fn directory_of(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
