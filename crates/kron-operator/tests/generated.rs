//! What is generated and committed is what would be generated now.

use std::path::Path;
use std::{env, fs};

/// The definition of the resource; `UPDATE=1` writes it anew.
#[test]
fn the_definition_is_what_the_types_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crd.yaml");
    let wanted = kron_operator::api::definition_yaml().unwrap();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == wanted, "deploy/crd.yaml differs; `make generate` writes it");
}

/// Small enough for `kubectl apply`, which keeps a copy in an annotation of at most 256 KiB.
#[test]
fn the_definition_can_be_applied() {
    let size = serde_json::to_vec(&kron_operator::api::definition()).unwrap().len();
    assert!(size < 200_000, "{size} bytes");
}
