//! Inputs made from others, without a fuzzer: for a look at every check in a few seconds, the same at every run.

/// Makes inputs from those of a corpus.
#[derive(Debug, Clone)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// One whose inputs depend on this number and the corpus alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x9e37_79b9_7f4a_7c15 }
    }

    /// Another input: one of the corpus with a few things changed, some of them for pieces of another one.
    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let Some(chosen) = corpus.get(self.below(corpus.len())) else { return self.random(64) };
        let mut input = chosen.clone();
        for _ in 0..=self.below(6) {
            self.change(&mut input, corpus);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(12)).min(input.len());
        match self.below(6) {
            0 => drop(input.drain(at..end)),
            1 => {
                let bytes = self.random(8);
                drop(input.splice(at..at, bytes));
            }
            2 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            3 => {
                let twice = input[at..end].to_vec();
                drop(input.splice(at..at, twice));
            }
            4 => {
                let Some(other) = corpus.get(self.below(corpus.len())) else { return };
                let from = self.below(other.len() + 1);
                let to = (from + self.below(64)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            _ => {
                let bytes = self.random(end - at);
                drop(input.splice(at..end, bytes));
            }
        }
    }

    fn random(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.below(256) as u8).collect()
    }

    /// A number below a bound; 0 where there is none.
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % bound.max(1)
    }
}
