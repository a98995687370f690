//! A byte source that knows its offset and never trusts a length field.

use std::io::{self, Read};

/// Memory is set aside in steps of this many bytes, so that a record claiming
/// more than the file holds costs no more than the file.
const STEP: usize = 64 * 1024;

pub(crate) struct Source<R> {
    inner: R,
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(inner: R) -> Self {
        Source { inner, offset: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends the next `count` bytes to `buffer`, or as many as there are.
    /// Returns whether all were there.
    pub(crate) fn append(&mut self, buffer: &mut Vec<u8>, count: usize) -> io::Result<bool> {
        let mut missing = count;
        while missing > 0 {
            let start = buffer.len();
            buffer.resize(start + missing.min(STEP), 0);
            let got = self.fill(&mut buffer[start..])?;
            let complete = start + got == buffer.len();
            buffer.truncate(start + got);
            missing -= got;
            if !complete {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fill(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < target.len() {
            match self.inner.read(&mut target[got..]) {
                Ok(0) => break,
                Ok(n) => {
                    got += n;
                    self.offset = self.offset.saturating_add(n as u64);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(got)
    }
}
