//! The socket's file: for its owner alone, left by nobody, taken from nobody.

use rustix::fs::Mode;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket with its file, which goes with it.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

/// The default path of `fairdropd ctl`.
pub fn default_path() -> PathBuf {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("FAIRDROPD_SOCKET")
        .or_else(|| given("RUNTIME_DIRECTORY").map(|at| at.join("control.sock")))
        .or_else(|| {
            let own = given("XDG_RUNTIME_DIR").filter(|_| !rustix::process::geteuid().is_root());
            own.map(|at| at.join("fairdropd.sock"))
        })
        .unwrap_or_else(|| PathBuf::from("/run/fairdropd/control.sock"))
}

impl Socket {
    /// Listens at `path`; a socket there to which nobody listens any more is replaced.
    ///
    /// # Errors
    /// Somebody listens there, something else is there, or the path cannot be had.
    pub fn bind(path: &Path) -> Result<Self, String> {
        let refuse = |why: &str| {
            let name = path.display().to_string();
            format!(
                "--control {name:?}: {why}; valid: a path in a directory that you may write to, not in use"
            )
        };
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(refuse("there is a file of another kind"));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(refuse("another program listens there"));
            }
            fs::remove_file(path).map_err(|error| refuse(&error.to_string()))?;
        }
        // The file has its mode from the moment it exists.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound.map_err(|error| refuse(&error.to_string()))?;
        Ok(Self { listener, path: path.into() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Somebody may have removed it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether who is at the other end may steer: the user that runs this, or root.
pub(super) fn may_steer(stream: &UnixStream) -> io::Result<bool> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?.uid;
    Ok(peer.is_root() || peer == rustix::process::geteuid())
}
