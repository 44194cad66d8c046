# `make run` and `make test` are the two commands of the README.

CARGO ?= cargo
FUZZ_SECONDS ?= 20
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOOLS := $(CURDIR)/target/tools

PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: run test check bench bench-daemon instructions fuzz install generate

## Builds krontab and shows when the example jobs run next.
run:
	@$(CARGO) build --locked -p krontab
	@$(TARGET)/debug/krontab lint examples
	@$(TARGET)/debug/krontab next --file examples --as /etc/krond.d

## Everything that can be tested on a machine that has Rust and nothing else.
test:
	$(CARGO) test --locked

## Installs krontab with its man pages and completions.
install:
	$(CARGO) build --locked --release -p krontab
	install -D -m 755 $(TARGET)/release/krontab $(DESTDIR)$(PREFIX)/bin/krontab
	for page in man/*.1; do install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $$page; done
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 man/kron.5
	install -D -m 644 completions/krontab.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/krontab
	install -D -m 644 completions/_krontab $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_krontab
	install -D -m 644 completions/krontab.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/krontab.fish

## Writes man pages and completions anew.
generate:
	UPDATE=1 $(CARGO) test --locked --quiet -p krontab --test generated

## Format, lints and documentation; no warning is accepted.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --workspace

## Speed beside other libraries, in one run.
bench:
	$(CARGO) build --locked --release -p kron-bench -p krontab
	$(TARGET)/release/kron-bench
	$(TARGET)/release/kron-bench programs

## The same in instructions, which a busy machine does not change (needs valgrind).
instructions:
	$(CARGO) build --locked --release -p kron-bench
	$(TARGET)/release/kron-bench instructions

## krond beside other daemons, in one run of six minutes: Debian's cron and busybox
## crond, if they are installed; needs root, to keep them from the machine's jobs.
bench-daemon:
	$(CARGO) build --locked --release -p kron-bench -p krond
	$(TARGET)/release/kron-bench daemon

## Each fuzz target for FUZZ_SECONDS. libFuzzer needs unstable compiler flags,
## which the stable compiler accepts when told to.
fuzz: $(TOOLS)/bin/cargo-fuzz
	@for target in duration constraint schedule tab log; do \
	  mkdir -p fuzz/corpus/$$target; \
	  RUSTC_BOOTSTRAP=1 $(TOOLS)/bin/cargo-fuzz fuzz run --sanitizer none $$target \
	    fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) \
	    -max_len=400 -dict=fuzz/schedule.dict -print_final_stats=1 2> target/fuzz-$$target.log; \
	  status=$$?; grep -E '^(Done|SUMMARY|==)' target/fuzz-$$target.log | sed "s/^/$$target: /"; \
	  if [ $$status -ne 0 ]; then tail -40 target/fuzz-$$target.log; exit $$status; fi; \
	done

$(TOOLS)/bin/cargo-fuzz:
	$(CARGO) install --quiet --locked --version 0.13.2 --root $(TOOLS) cargo-fuzz
