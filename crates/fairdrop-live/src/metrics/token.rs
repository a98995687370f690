//! The secret that is asked for where others than this machine can connect.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::Mode;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use subtle::ConstantTimeEq;

/// A token is this long at least and at most, bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=1024;

/// A secret. It is never printed.
pub struct Token(Vec<u8>);

impl Token {
    /// Reads a file that only its owner can read.
    ///
    /// # Errors
    /// Others can read it, or its content is no token.
    pub fn read(path: &Path) -> Result<Self, String> {
        let refuse = |why: &str| {
            let name = path.display().to_string();
            format!(
                "--token-file {name:?}: {why}; valid: a file of mode 0600 with 16 to 1,024 visible characters in one line"
            )
        };
        let file = File::open(path).map_err(|error| refuse(&error.to_string()))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| refuse(&error.to_string()))?;
        if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            return Err(refuse("others than its owner may read or write it"));
        }
        let mut text = String::new();
        let most = *LENGTHS.end() as u64 + 2;
        file.take(most).read_to_string(&mut text).map_err(|error| refuse(&error.to_string()))?;
        let token = text.trim_end_matches(['\r', '\n']);
        if !LENGTHS.contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refuse("that is no token"));
        }
        Ok(Self(token.as_bytes().to_vec()))
    }

    /// Whether an `Authorization` header names it: as a bearer token, or as the password of any user (RFC 6750, RFC 7617).
    /// How long that takes does not depend on how much of it is right.
    pub fn is_in(&self, authorization: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(authorization) else { return false };
        let Some((scheme, rest)) = text.split_once(' ') else { return false };
        let given = if scheme.eq_ignore_ascii_case("bearer") {
            rest.trim().as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            let Ok(pair) = STANDARD.decode(rest.trim()) else { return false };
            let Some(colon) = pair.iter().position(|&byte| byte == b':') else { return false };
            pair[colon + 1..].to_vec()
        } else {
            return false;
        };
        given.ct_eq(&self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_the_whole_token_counts() {
        let token = Token(b"0123456789abcdef".to_vec());
        for right in [
            "Bearer 0123456789abcdef",
            "bearer  0123456789abcdef",
            "Basic OjAxMjM0NTY3ODlhYmNkZWY=",
            "Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==",
        ] {
            assert!(token.is_in(right.as_bytes()), "{right}");
        }
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Basic MDEy",
            "Digest x",
        ] {
            assert!(!token.is_in(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn its_file_is_for_its_owner_alone() {
        let path = std::env::temp_dir().join(format!("fairdrop-token-{}", std::process::id()));
        let read = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path).map(|token| token.0)
        };
        assert_eq!(read("0123456789abcdef\n", 0o600).unwrap(), b"0123456789abcdef");
        assert!(read("0123456789abcdef\n", 0o640).unwrap_err().contains("others than its owner"));
        for text in ["short\n", "two words and sixteen\n", "", &"x".repeat(1025)] {
            assert!(read(text, 0o400).unwrap_err().contains("no token"), "{text:?}");
        }
        fs::remove_file(&path).unwrap();
    }
}
