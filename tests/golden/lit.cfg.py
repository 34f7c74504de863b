# Golden tests: .ptx files that hold their command (RUN) and what must come out (CHECK).
import os
import lit.formats

config.name = "allot-golden"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".ptx", ".test"]
config.excludes = ["inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["out"]
# Paths are quoted: there may be a blank in them.
config.substitutions.append((r"\bFileCheck\b", '"%s"' % lit_config.params["filecheck"]))
config.substitutions.append((r"\ballot\b", '"%s"' % lit_config.params["allot"]))
config.substitutions.append((r"%([sSt])\b", r'"%\1"'))
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "detect_leaks=0")
