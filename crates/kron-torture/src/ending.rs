//! How a life may end: only as it was made to.

/// What a daemon was made to end by, besides our own hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Kill,
    Clean,
    /// Asked to end, perhaps before it could hear.
    Asked,
    Trouble,
}

/// The code of an end by SIGKILL.
pub const KILLED: i32 = 137;
/// The code of an end by SIGTERM, before anybody listens for it.
const NOT_LISTENING: i32 = 143;

impl Expected {
    /// Whether it explains this exit code.
    pub const fn allows(self, code: i32, was_ready: bool) -> bool {
        match self {
            Self::Kill => code == KILLED,
            Self::Clean => code == 0,
            Self::Asked => code == 0 || (!was_ready && code == NOT_LISTENING),
            // State that cannot be opened, or not written.
            Self::Trouble => matches!(code, KILLED | 3 | 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law `Ended`.
    #[test]
    fn ended_as_it_was_made_to() {
        let codes = [0, 1, 2, 3, 4, 101, 134, KILLED, 139, NOT_LISTENING];
        for (expected, was_ready, allowed) in [
            (Expected::Kill, true, &[KILLED][..]),
            (Expected::Kill, false, &[KILLED]),
            (Expected::Clean, true, &[0]),
            (Expected::Clean, false, &[0]),
            (Expected::Asked, true, &[0]),
            (Expected::Asked, false, &[0, NOT_LISTENING]),
            (Expected::Trouble, true, &[3, 4, KILLED]),
            (Expected::Trouble, false, &[3, 4, KILLED]),
        ] {
            let allows = |code: &i32| expected.allows(*code, was_ready);
            let all: Vec<i32> = codes.into_iter().filter(allows).collect();
            assert_eq!(all, allowed, "{expected:?}, ready: {was_ready}");
        }
    }
}
