# Golden tests: .ptx files that hold their command (RUN) and what must come out (CHECK).
import os
import lit.formats

config.name = "allot-golden"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".ptx", ".test"]
config.excludes = ["inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["out"]
config.substitutions.append((r"\bFileCheck\b", lit_config.params["filecheck"]))
config.substitutions.append((r"\ballot\b", lit_config.params["allot"]))
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "detect_leaks=0")
