/**
 * The install step of Python projects: a program that runs inside the sandbox and makes a virtual environment in HOME.
 *
 * It uses the project's own tool (uv, Poetry, PDM, Pipenv) where there is one, and pip else. What the system's Python has
 * installed counts, so that a machine without an index gets along with packages of its distribution. The environment is not
 * in the project's folder: nothing of it can be committed.
 */

/** Folder of the environment; its `bin` stands first in PATH. */
export const PYTHON_ENVIRONMENT = '.venv';

/** File in HOME that has the text of the program. */
export const PYTHON_SETUP_FILE = '.install-python.py';
export const PYTHON_SETUP = `python3 ~/${PYTHON_SETUP_FILE}`;

/** Runs in the folder of the manifest. Python 3.8 or later; TOML is read from 3.11 on. */
export const PYTHON_SETUP_PROGRAM = String.raw`
import codecs, configparser, glob, json, os, re, shlex, shutil, subprocess, sys

HOME = os.environ["HOME"]
ENV = os.path.join(HOME, "${PYTHON_ENVIRONMENT}")
# Always started with -I: modules of the project's folder would come before Python's own.
PYTHON = os.path.join(ENV, "bin", "python")
BUILDS = os.environ.get("AUTONOMOUS_INSTALL_SCRIPTS") == "true"
REQUIREMENTS = ["requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt", "test-requirements.txt"]
TEST_GROUPS = re.compile(r"^(test|tests|testing|pytest|unittest)$", re.I)
DEV_GROUPS = re.compile(r"^(dev|develop|development|dev-dependencies)$", re.I)

os.environ.update(VIRTUAL_ENV=ENV, UV_PROJECT_ENVIRONMENT=ENV, UV_PYTHON_DOWNLOADS="never", POETRY_VIRTUALENVS_CREATE="false",
    PIPENV_VERBOSITY="-1", PDM_CHECK_UPDATE="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_RETRIES="2", PIP_TIMEOUT="30")
os.environ["PATH"] = os.path.join(ENV, "bin") + ":" + os.environ["PATH"] + ":" + os.path.join(HOME, ".local", "bin")

def say(text):
    print(text, flush=True)

def run(*command, quiet=False):
    say("$ " + " ".join(shlex.quote(each) for each in command))
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT).returncode == 0
    except OSError as error:
        say(str(error))
        return False

def answers(*command):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False

WHEELS = [] if BUILDS else ["--only-binary", ":all:"]

def pip(*arguments):
    return run(PYTHON, "-I", "-m", "pip", "install", *WHEELS, *arguments)

def fail(text):
    say(text)
    sys.exit(1)

# A package by its name and versions, of which pip takes a wheel. For pip the name of an archive is a file.
NAMED = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(\[[\w\s.,-]*\])?\s*\(?((===?|[<>!~]=|[<>])\s*[\w.*+!-]+\s*,?\s*)*\)?$", re.A)
ARCHIVE = re.compile(r"[.](zip|whl|tar|t?gz|t?bz2?|t?xz|t?lz|lzma)$", re.I)
WHEEL = re.compile(r"^(([A-Za-z0-9][\w.-]*\s*(\[[\w\s.,-]*\])?\s*@\s*)?https?://[^\s$#?]+[.]whl(#sha\d+=\w+)?|[\w./][\w./+-]*[.]whl)$", re.A)
MARKER = r"[\w\s.'\"()<>=!~,*+-]*"

def is_safe(requirement):
    """Whether pip runs no code of the package to install it."""
    requirement, _, marker = requirement.partition(";")
    requirement = " ".join(requirement.split())
    named = NAMED.match(requirement)
    known = WHEEL.match(requirement) or (named and not ARCHIVE.search(named.group(1)))
    return bool(known) and re.match("^" + MARKER + "$", marker) is not None

def checked(requirements, source):
    """Requirements for pip's command line."""
    for each in requirements:
        if not isinstance(each, str) or each.strip().startswith("-"):
            fail("%s names %r, which is no package. Mend it, and push." % (source, each))
        if not BUILDS and not is_safe(each):
            refuse(each, source)
    return list(requirements)

def refuse(requirement, source):
    fail("%s names %s, which pip has to build, and install scripts are off. Name a package that has a wheel, "
        "or, if you trust the packages of this project, start the run with commands.installScripts set to true in its "
        "configuration." % (source, requirement))

# They choose among wheels and where these lie; the network's list of hosts holds for them too.
HARMLESS = re.compile(r"^(--pre|--prefer-binary|--require-hashes|--no-index|(-i|--index-url|--extra-index-url|--trusted-host)[\s=]+\S+)$")
WHEELS_IN = re.compile(r"^(-f|--find-links)[\s=]+(\S+)$")
# Of the project itself, as files of requirements name them.
EXTRAS = set()
INCLUDED = re.compile(r"^(-r|--requirement|-c|--constraint)[\s=]*(\S+)$")

def listed_in(file, seen):
    """Lines of a file of requirements that make pip run no code; what would is refused, and other options are left out."""
    found = []
    for line in lines_of(file):
        included = INCLUDED.match(line)
        if included is not None:
            other = os.path.normpath(os.path.join(os.path.dirname(file), included.group(2)))
            if included.group(1) in ("-c", "--constraint"):
                found.append("-c " + shlex.quote(written(other, seen)))
            elif other not in seen:
                found += listed_in(other, seen + [other])
            continue
        folder = WHEELS_IN.match(line)
        if folder is not None:
            place = os.path.join(os.path.dirname(os.path.abspath(file)), folder.group(2))
            found.append("--find-links " + (place if os.path.exists(place) else folder.group(2)))
            continue
        if HARMLESS.match(line):
            found.append(line)
            continue
        if re.match(r"^(-e|--editable)\b", line) is None and line.startswith("-"):
            say("%s: the option %s is left out, since install scripts are off." % (file, line))
            continue
        hashes = re.findall(r"\s(--hash[\s=]+\w+:\w+)", line)
        requirement = re.sub(r"\s--?[a-z].*$", "", line)
        # The project itself is installed in any case.
        itself = re.match(r"^(?:(?:-e|--editable)[\s=]*)?[.]/?(?:\[([\w\s,-]*)\])?$", line)
        if itself is not None:
            EXTRAS.update(re.findall(r"[\w-]+", itself.group(1) or ""))
            continue
        if not is_safe(requirement):
            refuse(line, file)
        found.append(" ".join([requirement, *hashes]))
    return found

def lines_of(file):
    try:
        with open(file, "rb") as content:
            data = content.read()
    except OSError as error:
        fail("%s cannot be read: %s. Mend it, and push." % (file, error))
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = data.decode("utf-16" if is_wide else "utf-8-sig", "replace")
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    plain = (re.sub(r"(^|\s)#.*$", "", line).strip() for line in lines)
    return [line for line in plain if line]

def written(file, seen=()):
    """A copy of a file of requirements for pip, or the file where install scripts are allowed."""
    if BUILDS:
        return file
    place = os.path.join(HOME, ".cache", "requirements")
    os.makedirs(place, exist_ok=True)
    if file in seen:
        fail("%s contains itself. Mend it, and push." % file)
    copy = os.path.join(place, "%d.txt" % len(os.listdir(place)))
    with open(copy, "w", encoding="utf-8"):
        pass
    lines = listed_in(file, [*seen, file])
    with open(copy, "w", encoding="utf-8") as content:
        content.write("".join(line + "\n" for line in lines))
    return copy

def read_toml():
    try:
        import tomllib
        with open("pyproject.toml", "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except ImportError:
        return None
    except Exception as error:
        fail("pyproject.toml cannot be read: %s. Fix it on the base branch and push." % error)

def read_setup_cfg():
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read("setup.cfg", encoding="utf-8")
    except configparser.Error as error:
        fail("setup.cfg cannot be read: %s. Fix it on the base branch and push." % error)
    listed = lambda section, key: [line.strip() for line in parser.get(section, key, fallback="").splitlines() if line.strip()]
    extras = {key: listed("options.extras_require", key) for key in (parser["options.extras_require"] if "options.extras_require" in parser else [])}
    return listed("options", "install_requires"), extras, parser.get("metadata", "name", fallback=None)

def table(value, *names):
    for name in names:
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return value

def chosen(groups):
    tests = [name for name in groups if TEST_GROUPS.match(name)]
    return tests or [name for name in groups if DEV_GROUPS.match(name)]

def expanded(groups, name, seen=()):
    found = []
    for each in groups.get(name, []) if name not in seen else []:
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict) and isinstance(each.get("include-group"), str):
            found += expanded(groups, each["include-group"], (*seen, name))
    return found

def make_environment():
    base = [sys.executable, "-I", "-m", "venv", "--system-site-packages", "--copies"]
    if os.path.exists(PYTHON):
        return
    has_pip = answers(sys.executable, "-I", "-m", "pip", "--version")
    if not run(*base, *(["--without-pip"] if has_pip else []), ENV):
        fail("python3 -m venv failed. Install the packages python3-venv and python3-pip (sudo apt-get install python3-venv python3-pip) on the server's machine.")

def by_own_tool():
    """The project's tool and its lockfile: True if it installed, None if there is no tool."""
    for lock, tool, commands in [
        ("uv.lock", "uv", [["uv", "sync", "--frozen", "--inexact"]]),
        ("poetry.lock", "poetry", [["poetry", "install", "--no-interaction"]]),
        ("pdm.lock", "pdm", [["pdm", "sync", "--no-self"]]),
        ("Pipfile.lock", "pipenv", [["pipenv", "sync", "--dev"]]),
    ]:
        if not os.path.exists(lock):
            continue
        if shutil.which(tool) is None:
            say("%s is not installed; trying to install it." % tool)
            pip("-q", tool)
        if shutil.which(tool) is None:
            say("%s cannot be installed: the versions are not those of %s." % (tool, lock))
            return None
        if tool == "uv":
            groups = [name for name in table(read_toml() or {}, "dependency-groups") if TEST_GROUPS.match(name)]
            commands = [[*commands[0], *(argument for name in groups for argument in ("--group", name))]]
        if not all(run(*command) for command in commands):
            fail("%s could not install what %s names." % (tool, lock))
        return True
    return None

def by_pip():
    project = read_toml()
    if project is None:
        say("This Python reads no TOML: groups of pyproject.toml are left out.")
        project = {}
    groups = table(project, "dependency-groups")
    extras = table(project, "project", "optional-dependencies")
    poetry = table(project, "tool", "poetry")
    required = checked(table(project, "project").get("dependencies", []), "pyproject.toml") if isinstance(table(project, "project"), dict) else []
    name = table(project, "project").get("name")
    cfg_required, cfg_extras, cfg_name = read_setup_cfg()
    cfg_required = checked(cfg_required, "setup.cfg")
    extras = {**cfg_extras, **extras}
    name = name or cfg_name or poetry.get("name")
    files = [each for each in REQUIREMENTS if os.path.exists(each)]
    if not files and not required and not cfg_required:
        files = sorted(glob.glob("requirements/*test*.txt"))[:2]
    more = checked([each for group in chosen(groups) for each in expanded(groups, group)], "pyproject.toml")
    pipenv = [] if os.path.exists("pyproject.toml") or not os.path.exists("Pipfile.lock") else checked(locked_by_pipenv(), "Pipfile.lock")
    listed = [argument for file in files for argument in ("-r", written(file))]
    is_package = "build-system" in project or "project" in project or os.path.exists("setup.py") or bool(cfg_name)
    if not is_package:
        if (listed or more or pipenv) and not pip(*listed, *more, *pipenv):
            fail("pip could not install what the project asks for.")
        return
    wanted = chosen(extras)
    wanted += [each for each in extras if each in EXTRAS and each not in wanted]
    itself = "." + ("[%s]" % ",".join(wanted) if wanted else "")
    if can_build(project) and pip(*listed, *more, "-e", itself):
        return
    # Without its build tool the project is put on Python's path, with what it requires beside it.
    others = checked([each for extra in wanted for each in extras[extra]] + poetry_requirements(poetry), "pyproject.toml")
    needed = required + cfg_required + more + others
    if (needed or listed) and not pip(*listed, *needed):
        fail("pip could not install what the project asks for.")
    if answers(PYTHON, "-I", "-c", "import setuptools, wheel") and uses_setuptools(project):
        if run(PYTHON, "-I", "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-e", "."):
            return
    put_on_path(name, table(project, "project").get("version"), table(project, "project"))

def can_build(project):
    """Whether the index answers for the build tool."""
    builders = checked(table(project, "build-system").get("requires", ["setuptools"]), "pyproject.toml")
    probe = subprocess.run([PYTHON, "-I", "-m", "pip", "download", *WHEELS, "--no-deps", "-q", "-d", os.path.join(HOME, ".cache", "builders"), *builders],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return probe.returncode == 0

def uses_setuptools(project):
    return "setuptools" in str(table(project, "build-system").get("build-backend", "setuptools"))

def poetry_requirements(poetry):
    """Names alone: Poetry writes versions in a form of its own."""
    tables = [table(poetry, "dependencies")] + [table(poetry, "group", group, "dependencies") for group in chosen(table(poetry, "group"))]
    return [name for each in tables for name in each if name != "python"]

def locked_by_pipenv():
    with open("Pipfile.lock", encoding="utf-8") as file:
        lock = json.load(file)
    return [name + entry.get("version", "") for group in ("default", "develop") for name, entry in lock.get(group, {}).items()]

def put_on_path(name, version, project):
    site = subprocess.run([PYTHON, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], stdout=subprocess.PIPE, text=True).stdout.strip()
    source = os.path.join(os.getcwd(), "src") if os.path.isdir("src") else os.getcwd()
    with open(os.path.join(site, "project-%s.pth" % re.sub(r"\W", "_", os.path.basename(os.getcwd()))), "w") as file:
        file.write(source + "\n")
    say("The project is on Python's path as it is: its build tool cannot be installed. Code that has to be compiled is missing.")
    if not isinstance(name, str) or not re.match(r"^[\w.-]+$", name):
        return
    version = version if isinstance(version, str) and re.match(r"^[\w.+!-]+$", version) else "0"
    info = os.path.join(site, "%s-%s.dist-info" % (re.sub(r"[-.]+", "_", name), version))
    os.makedirs(info, exist_ok=True)
    with open(os.path.join(info, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
    for script, target in table(project, "scripts").items():
        module, _, function = str(target).partition(":")
        if re.match(r"^[\w.-]+$", script) and re.match(r"^[\w.]+$", module) and re.match(r"^\w+$", function):
            place = os.path.join(ENV, "bin", script)
            with open(place, "w") as file:
                file.write("#!%s\nimport sys\nfrom %s import %s\nsys.exit(%s())\n" % (PYTHON, module, function, function))
            os.chmod(place, 0o755)
    points = {"console_scripts": table(project, "scripts"), **table(project, "entry-points")}
    with open(os.path.join(info, "entry_points.txt"), "w") as file:
        for group, entries in points.items():
            file.write("[%s]\n%s\n" % (group, "\n".join("%s = %s" % pair for pair in entries.items())))

def bring_pytest():
    if answers(PYTHON, "-I", "-c", "import pytest"):
        return
    names = (each for folder, _, files in os.walk(".") if "/." not in folder for each in files)
    if not any(re.match(r"^(test_.*|.*_test)\.py$", each) for each in names):
        return
    say("The project has tests and does not name pytest; installing it.")
    if not pip("pytest"):
        fail("pytest is missing: name it in the project's test requirements, allow the package registries, or install it (sudo apt-get install python3-pytest).")

def suit_python():
    """Goes on with a newer Python where the project requires one, and another is on PATH."""
    required = str(table(read_toml() or {}, "project").get("requires-python", ""))
    least = re.search(r">=\s*3\.(\d+)", required)
    if least is None or sys.version_info >= (3, int(least.group(1))):
        return
    for minor in range(int(least.group(1)), int(least.group(1)) + 10):
        other = shutil.which("python3.%d" % minor)
        if other is not None:
            say("The project requires Python %s; going on with %s." % (required, other))
            os.execv(other, [other, os.path.abspath(__file__)])
    fail("The project requires Python %s, and the sandbox has %s. Install it (with pyenv or uv in the home folder, for instance), or name its folder in SANDBOX_PROGRAMS." % (required, sys.version.split()[0]))

suit_python()
make_environment()
if by_own_tool() is None:
    by_pip()
bring_pytest()
`.trimStart();
