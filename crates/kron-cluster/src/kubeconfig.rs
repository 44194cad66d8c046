//! Files that tell a client where the API server is and who it is.

use crate::certificates::Pair;
use crate::error::Error;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// How a client proves who it is.
pub enum Credentials<'a> {
    Certificate(&'a Pair),
    Token(&'a str),
}

/// Writes one. It is JSON, which every reader of YAML takes.
pub fn write(
    path: &Path,
    server: &str,
    authority: &Path,
    credentials: &Credentials<'_>,
) -> Result<(), Error> {
    let user: Value = match credentials {
        Credentials::Certificate(pair) => json!({
            "client-certificate": pair.certificate,
            "client-key": pair.key,
        }),
        Credentials::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "kron",
        "clusters": [{
            "name": "kron",
            "cluster": { "server": server, "certificate-authority": authority },
        }],
        "users": [{ "name": "kron", "user": user }],
        "contexts": [{
            "name": "kron",
            "context": { "cluster": "kron", "user": "kron", "namespace": "default" },
        }],
    });
    fs::write(path, format!("{config:#}\n"))
        .map_err(Error::io(format_args!("cannot write `{}`", path.display())))
}
