//! Tests of connections by TLS.

use crate::client::Client;
use crate::common::{ReferenceDisk, SMALL, device, page_steps, scenario};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wearwell_serve::nbd::{Address, Certificates, Limits, Server, ServerOptions, TRANSPORT};
use wearwell_serve::{Device, SharedDevice, Speed};

const STARTTLS: u32 = 5;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const TLS_REQUIRED: u32 = 1 << 31 | 5;

type TlsClient = Client<StreamOwned<ClientConnection, UnixStream>>;

/// Certificate authority with its files, which have the same names as in QEMU and nbdkit.
struct CertificateAuthority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl CertificateAuthority {
    /// Creates the authority and a server certificate.
    fn new() -> CertificateAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = CertificateAuthority { folder: tempfile::tempdir().unwrap(), issuer };
        authority.issue("server");
        authority
    }

    fn issue(&self, subject: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.path(&format!("{subject}-cert.pem")), certificate.pem()).unwrap();
        std::fs::write(self.path(&format!("{subject}-key.pem")), key.serialize_pem()).unwrap();
    }

    /// Makes the server require client certificates.
    fn require_client_certificates(self) -> CertificateAuthority {
        std::fs::write(self.path("ca-cert.pem"), self.issuer.as_ref().pem()).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn certificates(&self) -> Certificates {
        Certificates::read(self.folder.path()).unwrap()
    }

    /// Serves a device at a socket in the folder of the certificates.
    fn serve(&self, device: Device, limits: Limits) -> (Server, PathBuf) {
        let (device, path) = (SharedDevice::new(device), self.path("s"));
        let address = Address::Unix(path.clone());
        let options = ServerOptions { certificates: Some(self.certificates()), is_polling: true };
        (Server::start_with(options, device, &address, limits).unwrap(), path)
    }

    /// Returns a client configuration that trusts the authority. If `subject` is given, the client presents this
    /// certificate.
    fn client(&self, subject: Option<&str>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.as_ref().der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        Arc::new(match subject {
            None => config.with_no_client_auth(),
            Some(whose) => {
                let own = CertificateDer::from_pem_file(self.path(&format!("{whose}-cert.pem"))).unwrap();
                let key = PrivateKeyDer::from_pem_file(self.path(&format!("{whose}-key.pem"))).unwrap();
                config.with_client_auth_cert(vec![own], key).unwrap()
            }
        })
    }
}

/// Connects to a server and starts TLS.
fn connect(path: &Path, config: Arc<ClientConfig>) -> TlsClient {
    let mut client = Client::connect(path);
    assert_eq!(client.option(STARTTLS, &[]), [(1, vec![])]);
    start_tls(client, config)
}

fn start_tls(client: Client, config: Arc<ClientConfig>) -> TlsClient {
    let name = ServerName::try_from("localhost").unwrap();
    client.map_stream(|stream| StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream))
}

#[test]
fn options_before_starttls_are_refused() {
    let authority = CertificateAuthority::new();
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let mut client = Client::connect(&path);
    for (option, data) in [(3, &[][..]), (8, &[]), (6, &[0; 6]), (7, &[0; 6]), (10, &[0; 8]), (99, b"x")] {
        assert_eq!(client.option(option, data)[0].0, TLS_REQUIRED, "{option}");
    }
    assert_eq!(client.option(STARTTLS, b"x")[0].0, INVALID);
    assert_eq!(client.option(STARTTLS, &[]), [(1, vec![])]);
    let mut client = start_tls(client, authority.client(None));
    assert_eq!(client.option(STARTTLS, &[])[0].0, INVALID, "it has begun");
    assert_eq!(client.option(3, &[]), [(2, vec![0; 4]), (1, vec![])]);
    client.go();
    assert_eq!(client.bytes, device(SMALL).bytes());
    // NBD_OPT_EXPORT_NAME has no error reply, so the server disconnects.
    let mut old = Client::connect(&path);
    old.send_option(1, &[]);
    assert!(old.is_ended());
    server.stop();
}

#[test]
fn starttls_without_certificates_is_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let device = SharedDevice::new(device(SMALL));
    let server = Server::start(device, &Address::Unix(path.clone()), Limits::default()).unwrap();
    assert_eq!(Client::connect(&path).option(STARTTLS, &[])[0].0, UNSUPPORTED);
    server.stop();
}

#[test]
fn requests_by_tls_are_answered_as_in_plain_text() {
    let authority = CertificateAuthority::new();
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let mut client = connect(&path, authority.client(None));
    client.negotiate_structured();
    client.go();
    let mut naive = ReferenceDisk(vec![0; client.bytes as usize]);
    for step in &page_steps(client.bytes, 1500, 5) {
        assert!(client.run_step(step) == naive.apply(step), "{step:?}");
    }
    // The data is longer than any TLS record, in both directions.
    let long: Vec<u8> = (0..3u32 << 20).map(|at| (at % 251) as u8).collect();
    assert_eq!(client.request(0, 1, 4096, long.len() as u32, &long).error, 0);
    let read = client.request(0, 0, 4096, long.len() as u32, &[]);
    assert!(read.chunks.into_iter().flat_map(|chunk| chunk.1).eq(long));
    // Many requests are in progress at the same time.
    let cookies: Vec<u64> =
        (0..200u64).map(|at| client.send(0, 1, at * 4096, 4096, &[at as u8; 4096])).collect();
    cookies.into_iter().for_each(|cookie| assert_eq!(client.reply(cookie, 0).error, 0));
    client.disconnect();
    server.stop();
}

/// Requests in the same TLS record as the last option are not lost.
#[test]
fn requests_sent_with_last_option_are_served() {
    let authority = CertificateAuthority::new();
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let mut client = connect(&path, authority.client(None));
    let go = [&b"IHAVEOPT"[..], &7u32.to_be_bytes(), &6u32.to_be_bytes(), &[0; 6]].concat();
    let request = |command: u8, data: &[u8]| {
        let head = [&0x2560_9513u32.to_be_bytes()[..], &[0, 0, 0, command], &[0; 7], &[command], &[0; 8]];
        [&head.concat()[..], &3u32.to_be_bytes(), data].concat()
    };
    client.stream.write_all(&[go, request(1, b"abc"), request(0, &[])].concat()).unwrap();
    while client.option_reply(7).0 != 1 {}
    assert_eq!(client.reply(1, 0).error, 0);
    assert_eq!(client.reply(0, 3).chunks, [(1, b"abc".to_vec())]);
    server.stop();
}

/// With concurrent requests, one thread reads from the connection while other threads write to it.
#[test]
fn replies_are_sent_while_requests_arrive() {
    let slow = format!(
        "{SMALL}[timing]\nread_us = 300.0\nprogram_us = 300.0\nerase_us = 300.0\nchannel_mb_per_s = 1000000.0\n"
    );
    let authority = CertificateAuthority::new();
    let device = Device::in_memory_at(&scenario(&slow), Speed::Timed).unwrap();
    let (server, path) = authority.serve(device, Limits::default());
    let mut client = connect(&path, authority.client(None));
    client.go();
    let mut answered = 0;
    for at in 0..600u64 {
        client.send(0, 1, at % 1000 * 4096, 4096, &[at as u8; 4096]);
        // Some replies are read meanwhile, in any order.
        while answered + 40 < at {
            assert_eq!(client.bytes(16)[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
            answered += 1;
        }
    }
    (answered..600).for_each(|_| assert_eq!(client.bytes(16)[4..8], [0; 4]));
    assert_eq!(client.request(0, 0, 599 * 4096, 4096, &[]).chunks, [(1, vec![87; 4096])]);
    client.disconnect();
    server.stop();
}

/// Relays a connection and records all its bytes.
fn relay_and_record(path: PathBuf, relay_path: &Path) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let listener = UnixListener::bind(relay_path).unwrap();
    let all = kept.clone();
    std::thread::spawn(move || {
        let (client, server) = (listener.accept().unwrap().0, UnixStream::connect(path).unwrap());
        let pass_on = |mut from: UnixStream, mut to: UnixStream, kept: Arc<Mutex<Vec<u8>>>| {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                kept.lock().unwrap().extend(&bytes[..count]);
                to.write_all(&bytes[..count]).unwrap();
            }
        };
        let (from, to, kept) = (client.try_clone().unwrap(), server.try_clone().unwrap(), all.clone());
        std::thread::spawn(move || pass_on(from, to, kept));
        pass_on(server, client, all);
    });
    kept
}

/// Writes `bytes` and reads them back.
fn write_and_read_back<S: Read + Write>(mut client: Client<S>, bytes: &[u8]) {
    client.go();
    let length = bytes.len() as u32;
    assert_eq!(client.request(0, 1, 0, length, bytes).error, 0);
    assert!(client.request(0, 0, 0, length, &[]).chunks == [(1, bytes.to_vec())]);
}

#[test]
fn eavesdropper_sees_no_plain_text_with_tls() {
    let authority = CertificateAuthority::new();
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let output = b"what nobody else should know, and will not".repeat(100);
    let heard = |secret: bool| {
        let between = authority.path(if secret { "secret" } else { "clear" });
        let target = if secret { path.clone() } else { authority.path("plain") };
        let kept = relay_and_record(target, &between);
        if secret {
            write_and_read_back(connect(&between, authority.client(None)), &output);
        } else {
            write_and_read_back(Client::connect(&between), &output);
        }
        let kept = kept.lock().unwrap();
        assert!(kept.len() > 2 * output.len());
        kept.windows(20).filter(|window| *window == &output[..20]).count()
    };
    let plain = Server::start(
        SharedDevice::new(device(SMALL)),
        &Address::Unix(authority.path("plain")),
        Limits::default(),
    );
    assert_eq!(heard(false), 200);
    assert_eq!(heard(true), 0);
    plain.unwrap().stop();
    server.stop();
}

#[test]
fn only_clients_with_issued_certificate_are_admitted() {
    let authority = CertificateAuthority::new().require_client_certificates();
    authority.issue("client");
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let is_admitted = |config: Arc<ClientConfig>| {
        let mut client = connect(&path, config);
        let question = [&b"IHAVEOPT"[..], &3u32.to_be_bytes(), &[0; 4]].concat();
        client.stream.write_all(&question).is_ok() && client.stream.read_exact(&mut [0; 20]).is_ok()
    };
    assert!(is_admitted(authority.client(Some("client"))));
    assert!(!is_admitted(authority.client(None)));
    // The certificate is from another authority; the client is made to trust this server.
    let other = CertificateAuthority::new();
    other.issue("client");
    for file in ["client-cert.pem", "client-key.pem"] {
        let to = authority.path(&file.replace("client", "stranger"));
        std::fs::copy(other.path(file), to).unwrap();
    }
    assert!(!is_admitted(authority.client(Some("stranger"))));
    assert!(is_admitted(authority.client(Some("client"))));
    server.stop();
}

#[test]
fn invalid_tls_ends_only_its_own_connection() {
    let authority = CertificateAuthority::new();
    let limits = Limits { handshake: Duration::from_secs(5), ..Limits::default() };
    let (server, path) = authority.serve(device(SMALL), limits);
    let mut good = connect(&path, authority.client(None));
    good.go();
    let hello = [22, 3, 1, 2, 0, 1];
    // The clients send plain-text options, an invalid record, a record that is too long, and an incomplete record.
    for nonsense in [&b"IHAVEOPT\0\0\0\x03\0\0\0\0"[..], &[0xff; 200], &[22, 3, 3, 0xff, 0xff], &hello] {
        let mut client = Client::connect(&path);
        client.option(STARTTLS, &[]);
        client.stream.write_all(nonsense).unwrap();
        assert!(client.is_ended(), "{nonsense:?}");
    }
    // A client that sends one byte at a time is also disconnected after the time limit.
    let mut slow = Client::connect(&path);
    slow.option(STARTTLS, &[]);
    let started = Instant::now();
    while slow.stream.write_all(&[22]).is_ok() && started.elapsed() < Duration::from_secs(200) {
        std::thread::sleep(Duration::from_millis(50));
        slow.stream.set_nonblocking(true).unwrap();
        let ended = matches!(slow.stream.read(&mut [0; 64]), Ok(0));
        slow.stream.set_nonblocking(false).unwrap();
        if ended {
            break;
        }
    }
    assert!(started.elapsed() < Duration::from_secs(150), "{:?}", started.elapsed());
    // A client disconnects within a request.
    let mut broken = connect(&path, authority.client(None));
    broken.go();
    broken.send(0, 1, 0, 1 << 20, b"much less");
    drop(broken);
    assert_eq!(good.request(0, 1, 0, 3, b"abc").error, 0);
    assert_eq!(good.request(0, 0, 0, 3, &[]).chunks, [(1, b"abc".to_vec())]);
    server.stop();
}

#[test]
fn missing_or_invalid_certificate_files_are_named() {
    let authority = CertificateAuthority::new();
    let refused = |folder: &Path| Certificates::read(folder).unwrap_err().to_string();
    let none = refused(&authority.path("nowhere"));
    assert!(
        none.contains("nowhere/server-cert.pem: it is not there") && none.contains("ca-cert.pem"),
        "{none}"
    );
    let certificate = std::fs::read(authority.path("server-cert.pem")).unwrap();
    let key = std::fs::read(authority.path("server-key.pem")).unwrap();
    for (name, content, said) in [
        ("server-cert.pem", &b"nothing"[..], "server-cert.pem: there is no certificate in it"),
        ("server-cert.pem", &key, "server-cert.pem: there is no certificate in it"),
        ("server-key.pem", &certificate, "server-key.pem: there is no private key in it"),
        ("server-key.pem", &certificate[..200], "server-key.pem: it is not a private key in PEM"),
        ("ca-cert.pem", b"", "ca-cert.pem: there is no certificate in it"),
    ] {
        let other = CertificateAuthority::new();
        std::fs::write(other.path(name), content).unwrap();
        let told = refused(other.folder.path());
        assert!(told.contains(said), "{told}");
    }
    // The private key belongs to another certificate.
    std::fs::copy(CertificateAuthority::new().path("server-key.pem"), authority.path("server-key.pem"))
        .unwrap();
    assert!(
        refused(authority.folder.path()).contains("server-key.pem: "),
        "{}",
        refused(authority.folder.path())
    );
}

#[test]
fn remote_address_is_guarded_only_with_client_certificates() {
    let is_guarded = |address: &str, authority: &CertificateAuthority| {
        let text = format!("{address},tls={}", authority.folder.path().display());
        (TRANSPORT.parse)(&text).unwrap().is_guarded()
    };
    assert!(!(TRANSPORT.parse)("tcp:0.0.0.0:0").unwrap().is_guarded());
    assert!(!is_guarded("tcp:0.0.0.0:0", &CertificateAuthority::new()));
    assert!(is_guarded("tcp:0.0.0.0:0", &CertificateAuthority::new().require_client_certificates()));
    assert!(is_guarded("tcp:127.0.0.1:0", &CertificateAuthority::new()));
    assert!((TRANSPORT.parse)("tcp:127.0.0.1:0,tls=/nowhere").is_err());
}

#[test]
fn public_clients_connect_by_tls() {
    let authority = CertificateAuthority::new().require_client_certificates();
    authority.issue("client");
    let (server, path) = authority.serve(device(SMALL), Limits::default());
    let folder = authority.folder.path().display();
    let uri = format!("{}&tls-certificates={folder}&tls-hostname=localhost", server.uri());
    let creds = format!("tls-creds-x509,id=tls,endpoint=client,dir={folder}");
    let options = format!(
        "driver=raw,file.driver=nbd,file.server.type=unix,file.server.path={},file.tls-creds=tls,file.tls-hostname=localhost",
        path.display()
    );
    let commands: [(&str, &[&str]); 4] = [
        ("nbdinfo", &[&uri]),
        ("nbdcopy", &[&uri, "null:"]),
        (
            "qemu-io",
            &[
                "--object",
                &creds,
                "--image-opts",
                "-c",
                "write -P 7 1024 9000",
                "-c",
                "read -P 7 1024 9000",
                &options,
            ],
        ),
        ("qemu-img", &["map", "--object", &creds, "--image-opts", &options]),
    ];
    for (program, arguments) in commands {
        match Command::new(program).args(arguments).current_dir(authority.folder.path()).output() {
            Err(error) => println!("NOT RUN: {program}: {error}"),
            Ok(ended) => assert!(ended.status.success(), "{program}: {ended:?}"),
        }
    }
    server.stop();
}
