//! A real Kubernetes control plane for the operator's tests and benchmarks, and for
//! people who want to try it by hand.
//!
//! etcd, the API server and the controller manager, without nodes: Jobs get pods, but
//! nothing runs them. [`Cluster::finish_pods`] plays the kubelet. Each cluster has a
//! directory and ports of its own and leaves nothing behind, whatever becomes of the
//! process that started it.
//!
//! ```no_run
//! use kron_cluster::{Cluster, Controllers, End, Options};
//!
//! # fn main() -> Result<(), kron_cluster::Error> {
//! let mut cluster = Cluster::start(&Options::default())?;
//! // Resource definitions go here: the garbage collector looks for new kinds rarely.
//! cluster.start_controllers(&Controllers::default())?;
//! cluster.kubectl(&["create", "job", "hello", "--image=hello"])?;
//! cluster.finish_pods("default", "hello", End::Succeeded)?;
//! cluster.kubectl(&["wait", "--for=condition=complete", "job/hello"])?;
//! # Ok(())
//! # }
//! ```
//!
//! What is not here: nodes, networks, images, service account admission. Programs are
//! found or built by [`Programs`]; none is part of this repository.

#![forbid(unsafe_code)]

mod build;
mod certificates;
mod cluster;
mod error;
mod keeper;
mod kubeconfig;
mod kubectl;
mod launch;
mod options;
mod ports;
mod process;
mod programs;
mod skip;

pub use cluster::{Cluster, Part};
pub use error::Error;
pub use kubectl::End;
pub use options::{AUDIT_METADATA, Controllers, Options};
pub use programs::{Programs, VERSION};
pub use skip::start_or_skip;
