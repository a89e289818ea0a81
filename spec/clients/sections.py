"""Runs the functions of a client script, each a section, and says of each whether it went well: a line that begins with
"ok" or "not ok". Which ones run is given on the command line; none: all. "--list" only names them."""
import inspect
import sys
import traceback


class Skip(Exception):
    pass


def run(namespace):
    sections = [(name, each) for name, each in namespace.items()
                if inspect.isfunction(each) and each.__module__ == "__main__" and not name.startswith("_")]
    wanted = sys.argv[1:]
    for name, each in sections:
        if wanted == ["--list"]:
            print(name)
        elif not wanted or name in wanted:
            try:
                each()
            except Skip as reason:
                print("skip", name, reason)
            except BaseException:
                text = traceback.format_exc().strip()
                print("not ok", name, text.replace("\n", "\\n"))
            else:
                print("ok", name)
        sys.stdout.flush()
