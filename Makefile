# `make run` and `make test` are the two commands of the README.

CARGO ?= cargo
FUZZ_SECONDS ?= 20
FUZZ_RUNS ?= -1
FUZZ_FLAGS ?=
FUZZ_TARGETS ?= duration constraint schedule tab log state roster control
KILLS ?= 1000
SEED ?= 1
SOAK_FOR ?= 1h
SIM_FOR ?= 10m
FAULTS_FOR ?= 300
TARGET := $(or $(CARGO_TARGET_DIR),target)
TOOLS := $(CURDIR)/target/tools

PREFIX ?= /usr/local
DESTDIR ?=
# Where systemd looks for units: below a home it is another place.
UNITS ?= $(PREFIX)/$(if $(filter $(HOME)/%,$(PREFIX)),share,lib)/systemd

.PHONY: run test cluster check bench bench-daemon bench-operator faults instructions fuzz install generate torture soak simulate mutants sanitize

## Runs the daemon on the example jobs, as whoever you are and without any set-up:
## its state is below target/. Ctrl-C ends it. With RUN_FOR=2m it ends by itself as
## soon as a job has run, and fails if none has by then.
DEMO = $(TARGET)/debug/krond start examples/demo.kron --shutdown terminate --log-format human --state-dir
ASK = $(TARGET)/debug/krond history hello --state-dir $(TARGET)/first-run 2> /dev/null

run:
	@$(CARGO) build --locked -p krond -p krontab
ifdef RUN_FOR
	@rm -rf $(TARGET)/first-run
	@$(DEMO) $(TARGET)/first-run & \
	timeout $(RUN_FOR) sh -c 'until $(ASK) | grep "executed, exit 0"; do sleep 1; done'; ran=$$?; \
	$(TARGET)/debug/krond stop --now --state-dir $(TARGET)/first-run; wait $$! && exit $$ran
else
	@exec $(DEMO) $(TARGET)/demo
endif

## Everything that can be tested on this machine. Where there is Go, that includes the operator
## against a real API server, which is built before if it has not been (`make cluster`);
## CLUSTER=no does not build it. Without one those tests say that they are skipped.
test:
ifneq ($(CLUSTER),no)
	@if command -v go >/dev/null && ! $(MAKE) --no-print-directory cluster; then \
	  echo '*** NO CONTROL PLANE: the tests against an API server are skipped (see above) ***' >&2; \
	  [ -z "$${KRON_CLUSTER_REQUIRED+set}" ]; fi
endif
	$(CARGO) test --locked

## Builds a Kubernetes control plane for the operator's tests, once for each user (needs
## Go; a quarter of an hour).
cluster:
	$(CARGO) run --locked -p kron-cluster -- build

## Installs the programs of a user and of a host with man pages, completions and units for
## systemd; kronctl also as a plugin of kubectl. Nothing is enabled or started.
install:
	$(CARGO) build --locked --release -p krontab -p krond -p kronctl
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(TARGET)/release/krontab $(TARGET)/release/krond $(TARGET)/release/kronctl
	ln -sf kronctl $(DESTDIR)$(PREFIX)/bin/kubectl-kron
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 man/*.1
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 man/*.5
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/*.8
	for program in krontab krond kronctl; do \
	  install -D -m 644 completions/$$program.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$program && \
	  install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions completions/_$$program && \
	  install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d completions/$$program.fish || exit; \
	done
	for unit in system user; do \
	  sed 's|/usr/local/bin/|$(PREFIX)/bin/|' contrib/systemd/$$unit/krond.service | \
	    install -D -m 644 /dev/stdin $(DESTDIR)$(UNITS)/$$unit/krond.service || exit; \
	done

## Writes man pages, completions and the definition of the resource anew.
generate:
	UPDATE=1 $(CARGO) test --locked --quiet -p krontab -p krond -p kronctl --test generated -- man_pages completions
	UPDATE=1 $(CARGO) test --locked --quiet -p kron-operator --test generated --test chart -- the_definition

## Format, lints, documentation and examples; no warning is accepted.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --manifest-path fuzz/Cargo.toml --target-dir $(TARGET)/fuzz -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --workspace
	$(CARGO) run --locked --quiet -p krontab -- lint --deny-warnings examples

## Speed beside other libraries, in one run.
bench:
	$(CARGO) build --locked --release -p kron-bench -p krontab
	$(TARGET)/release/kron-bench
	$(TARGET)/release/kron-bench programs

## The same in instructions, which a busy machine does not change (needs valgrind).
instructions:
	$(CARGO) build --locked --release -p kron-bench
	$(TARGET)/release/kron-bench instructions

## krond beside other daemons, in one run of a quarter of an hour: Debian's cron and busybox
## crond, if they are installed; needs root, to keep them from the machine's jobs. With
## WHAT=herd only many jobs at once, with WHAT=alone only krond.
bench-daemon:
	$(CARGO) build --locked --release -p kron-bench -p krond
	$(TARGET)/release/kron-bench daemon $(WHAT)

## The operator beside Kubernetes' own CronJob controller, on a real API server (`make
## cluster` first): a quarter of an hour.
bench-operator:
	$(CARGO) build --locked --release -p kron-operator --bins --example bench
	$(TARGET)/release/examples/bench

## The operator under faults for FAULTS_FOR seconds in each of two phases: lost, late and
## doubled requests, broken watches, kills; each period must have one Job.
faults:
	KRON_FAULT_SECONDS=$(FAULTS_FOR) $(CARGO) test --locked -p kron-operator --test cluster -- \
	  --nocapture one_job_for_each_period

## The real daemon, killed KILLS times and in other trouble: nothing may run twice and
## everything must have a reason. First a daemon that records a start after making it
## has to be caught. As root it can also fill disks, in mounts of its own.
torture:
	$(CARGO) build --locked -p krond --features mutants
	cp $(TARGET)/debug/krond $(TARGET)/debug/krond-mutants
	$(CARGO) build --locked -p krond -p krontab -p kron-torture
	@$(TARGET)/debug/kron-torture kill --kills 600 --seed $(SEED) --mutant commit-after-exec \
	  --krond $(TARGET)/debug/krond-mutants --forget > $(TARGET)/torture-mutant.log; \
	if [ $$? -ne 1 ] || ! grep -q Duplicate: $(TARGET)/torture-mutant.log; then \
	  cat $(TARGET)/torture-mutant.log; echo 'the mutant was not caught' >&2; exit 1; fi
	@echo 'the mutant was caught'
	$(TARGET)/debug/kron-torture kill --kills $(KILLS) --seed $(SEED)

## Thousands of jobs a minute for SOAK_FOR: nothing may grow, nothing may be lost.
soak:
	$(CARGO) build --locked --release -p krond -p kron-torture
	$(TARGET)/release/kron-torture soak --for $(SOAK_FOR)

## False worlds with crashes, wrong clocks and torn files, for SIM_FOR, on all
## processors (docs/SIMULATOR.md).
simulate:
	$(CARGO) build --locked --release -p kron-sim
	$(TARGET)/release/kron-sim run --for $(SIM_FOR)

## Whether the simulator notices deliberate mistakes in the engine.
mutants:
	$(CARGO) test --locked -p kron-sim --features mutants --test mutants -- --nocapture

## What has unsafe code, and what starts commands, under the address sanitizer (needs a
## nightly toolchain).
sanitize:
	ASAN_OPTIONS=detect_leaks=0 RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test --locked \
	  --target x86_64-unknown-linux-gnu --target-dir $(TARGET)/sanitize \
	  -p kron-host -p krond --lib --test exec

## Each of FUZZ_TARGETS for FUZZ_SECONDS or FUZZ_RUNS inputs, with the longest input that makes
## sense. libFuzzer needs unstable compiler flags, which the stable compiler accepts when
## told to. A long run goes further with FUZZ_FLAGS=--no-trace-compares, once a short one has
## found its inputs.
fuzz: $(TOOLS)/bin/cargo-fuzz
	@for target in $(FUZZ_TARGETS); do \
	  words=schedule; longest=400; \
	  case $$target in state | roster | control) words=json ;; esac; \
	  case $$target in \
	    tab) longest=320 ;; log) longest=512 ;; \
	    state) longest=8192 ;; roster) longest=2048 ;; control) longest=66000 ;; \
	  esac; \
	  mkdir -p fuzz/corpus/$$target target; \
	  RUSTC_BOOTSTRAP=1 $(TOOLS)/bin/cargo-fuzz fuzz run --sanitizer none $(FUZZ_FLAGS) $$target \
	    fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) -runs=$(FUZZ_RUNS) \
	    -max_len=$$longest -dict=fuzz/$$words.dict -timeout=10 -print_final_stats=1 \
	    2> target/fuzz-$$target.log; \
	  status=$$?; grep -E '^(Done|SUMMARY|==)' target/fuzz-$$target.log | sed "s/^/$$target: /"; \
	  if [ $$status -ne 0 ]; then tail -40 target/fuzz-$$target.log; exit $$status; fi; \
	done

$(TOOLS)/bin/cargo-fuzz:
	$(CARGO) install --quiet --locked --version 0.13.2 --root $(TOOLS) cargo-fuzz
