//! What is counted, and the table at the end.

use serde::{Deserialize, Serialize};

macro_rules! tally {
    ($($field:ident = $says:literal,)+) => {
        /// Numbers of one or many rounds.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Tally {
            $(pub $field: u64,)+
        }

        impl Tally {
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            fn rows(&self) -> Vec<(&'static str, u64)> {
                vec![$(($says, self.$field)),+]
            }
        }
    };
}

tally! {
    random = "kills at random times",
    around = "kills around a chosen second",
    points = "kills at a point of the program",
    other = "kills while stopped or in other trouble",
    amid = "  of all kills, in the middle of a start",
    restarts = "starts of the daemon",
    terms = "ends by TERM",
    troubled = "ends because of a disk that was full or read-only",
    reloads = "edits of the configuration",
    bursts = "bursts of HUP",
    stops = "SIGSTOP and SIGCONT",
    steps = "settings of the clock",
    damages = "state files damaged",
    adopted = "runs that outlived a daemon",
    runs = "runs in the record",
    due = "periods due",
    executed = "  executed, and in the record",
    unrun = "  executed by state, died before it could run",
    missed = "  missed",
    skipped = "  skipped",
    superseded = "  superseded",
    barred = "  barred by an edit, a removal or lost state",
    suspended = "  suspended",
    awake = "of all due, with a daemon there from before to long after",
    attended = "of all due, with daemons there for long enough together",
    duplicates = "duplicates",
    unexplained = "unexplained",
    violations = "other violations",
}

impl Tally {
    pub fn kills(&self) -> u64 {
        self.random + self.around + self.points + self.other
    }

    pub fn is_clean(&self) -> bool {
        self.duplicates + self.unexplained + self.violations == 0
    }

    pub fn table(&self) -> String {
        let mut text = format!("{:<57} {:>9}\n", "kills", self.kills());
        for (says, count) in self.rows() {
            text += &format!("{says:<57} {count:>9}\n");
        }
        text
    }
}
