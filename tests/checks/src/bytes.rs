//! Bytes as decisions: what a check makes of its input.

/// Reads an input from its beginning. Behind the end everything is 0, so that a short input is one with few decisions.
pub(crate) struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number of as many bytes, little end first.
    pub(crate) fn number(&mut self, bytes: usize) -> u64 {
        let mut number = [0; 8];
        let taken = self.take(bytes.min(8));
        number[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(number)
    }

    /// A number below a bound, of two bytes.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number(2)).unwrap_or(0) % bound.max(1)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// Up to so many bytes.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// All that is left, as text.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.rest).into_owned()
    }
}
