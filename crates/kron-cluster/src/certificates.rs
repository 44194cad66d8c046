//! Who is who: one authority, the API server's certificate, and clients'.
//!
//! In a client's certificate Kubernetes reads the common name as the user, and the
//! organisation as the group.

use crate::error::Error;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

/// Signs certificates that the API server believes in.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A private and its public key, as files.
#[derive(Debug)]
pub struct TokenKeys {
    pub signing: PathBuf,
    pub checking: PathBuf,
}

impl Authority {
    /// A new one, which writes into a directory that only this user can read.
    pub fn new(directory: &Path) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(refused)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("kron-cluster", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key).map_err(refused)?;
        write(&directory.join("ca.crt"), &certificate.pem())?;
        Ok(Self { directory: directory.to_path_buf(), issuer: Issuer::new(params, key) })
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    /// For the API server, which is reached on this machine only.
    pub fn serving(&self) -> Result<Pair, Error> {
        let names = ["localhost", "127.0.0.1"].map(String::from);
        let mut params = CertificateParams::new(names).map_err(refused)?;
        params.distinguished_name = name("kube-apiserver", &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, "serving")
    }

    /// For a client with this user name, and at most two groups.
    pub fn client(&self, file: &str, user: &str, groups: &[&str]) -> Result<Pair, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, file)
    }

    /// The keys with which the API server signs and checks the tokens of service accounts.
    pub fn token_keys(&self) -> Result<TokenKeys, Error> {
        let keys = TokenKeys {
            signing: self.directory.join("service-accounts.key"),
            checking: self.directory.join("service-accounts.pub"),
        };
        let pair = KeyPair::generate().map_err(refused)?;
        write(&keys.signing, &pair.serialize_pem())?;
        write(&keys.checking, &pair.public_key_pem())?;
        Ok(keys)
    }

    fn sign(&self, mut params: CertificateParams, file: &str) -> Result<Pair, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(refused)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(refused)?;
        let pair = Pair {
            certificate: self.directory.join(format!("{file}.crt")),
            key: self.directory.join(format!("{file}.key")),
        };
        write(&pair.certificate, &certificate.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }
}

fn name(user: &str, groups: &[&str]) -> Result<DistinguishedName, Error> {
    // A name holds one value of a type; the second group is of the same type in another
    // spelling, which makes no difference in the certificate. There is no third.
    let types = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    if groups.len() > types.len() {
        return Err(Error::failed(format!("user `{user}` has more than two groups")));
    }
    let mut name = DistinguishedName::new();
    for (kind, group) in types.into_iter().zip(groups) {
        name.push(kind, *group);
    }
    name.push(DnType::CommonName, user);
    Ok(name)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(Error::io(format_args!("cannot write `{}`", path.display())))
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn refused(error: rcgen::Error) -> Error {
    Error::failed(format!("cannot make a certificate: {error}"))
}
