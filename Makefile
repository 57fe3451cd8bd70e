# The front door. Everything is built by Meson, out of tree; BUILD names the folder.
BUILD ?= build
MESON_FLAGS ?= --buildtype=debugoptimized
DEMO_DIR ?= $(BUILD)/demo

.PHONY: all demo test bench lint asan tsan fuzz coverage install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

$(BUILD)/build.ninja:
	meson setup $(BUILD) $(MESON_FLAGS)

test: all
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs; devtools/test-summary $(BUILD) tests/allowed-skips

demo: all
	@devtools/demo $(BUILD)/src/cli/tare $(DEMO_DIR)

bench: all
	devtools/bench $(BUILD) $(BENCH)

lint:
	devtools/lint

# The tests under a sanitizer: a build folder and a Meson native file each.
asan tsan: %:
	@test -f build-$@/build.ninja || meson setup build-$@ --native-file devtools/native/$@.ini
	@ninja -C build-$@ --quiet
	@meson test -C build-$@ --no-rebuild --print-errorlogs --suite unit; \
		devtools/test-summary build-$@ tests/allowed-skips

fuzz:
	devtools/fuzz $(or $(SECONDS_EACH),60)

coverage:
	@test -f build-coverage/build.ninja || meson setup build-coverage --native-file devtools/native/coverage.ini
	@ninja -C build-coverage --quiet
	@meson test -C build-coverage --no-rebuild --suite unit --suite golden || true
	@ninja -C build-coverage coverage-text && cat build-coverage/meson-logs/coverage.txt

install: all
	meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) build-asan build-tsan build-fuzz build-coverage
