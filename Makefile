# `make run` and `make test` are the two commands of the README.

CARGO ?= cargo
FUZZ_SECONDS ?= 20
TOOLS := $(CURDIR)/target/tools

.PHONY: run test check bench instructions fuzz

## Shows the next chosen times of a few example schedules.
run:
	@$(CARGO) run --quiet --locked -p kron-core --example upcoming

## Everything that can be tested on a machine that has Rust and nothing else.
test:
	$(CARGO) test --locked

## Format, lints and documentation; no warning is accepted.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --workspace

## Speed beside other libraries, in one run.
bench:
	$(CARGO) run --locked --release -p kron-bench

## The same in instructions, which a busy machine does not change (needs valgrind).
instructions:
	$(CARGO) build --locked --release -p kron-bench
	target/release/kron-bench instructions

## Each fuzz target for FUZZ_SECONDS. libFuzzer needs unstable compiler flags,
## which the stable compiler accepts when told to.
fuzz: $(TOOLS)/bin/cargo-fuzz
	@for target in duration constraint schedule; do \
	  mkdir -p fuzz/corpus/$$target; \
	  RUSTC_BOOTSTRAP=1 $(TOOLS)/bin/cargo-fuzz fuzz run --sanitizer none $$target \
	    fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) \
	    -max_len=400 -dict=fuzz/schedule.dict -print_final_stats=1 2> target/fuzz-$$target.log; \
	  status=$$?; grep -E '^(Done|SUMMARY|==)' target/fuzz-$$target.log | sed "s/^/$$target: /"; \
	  if [ $$status -ne 0 ]; then tail -40 target/fuzz-$$target.log; exit $$status; fi; \
	done

$(TOOLS)/bin/cargo-fuzz:
	$(CARGO) install --quiet --locked --version 0.13.2 --root $(TOOLS) cargo-fuzz
