"""Downloads a source archive through pip without running anything in it.

usage: download_sdist.py FOLDER REQUIREMENT [pip download options]

`pip download` runs the setup.py of a source archive to learn what it depends on; for one that is only
wanted for a file in it, that is neither needed nor welcome, and no option of pip prevents it. So this
asks pip to find the archive, which honours the user's pip configuration, and to fetch it, no more. The
caller checks its hash. It uses pip's inner interfaces as pip 23.0 (Debian 12) has them.
"""

import sys

from pip._internal.commands import create_command
from pip._internal.network.download import Downloader
from pip._internal.req.constructors import install_req_from_line


def main():
    folder, requirement, *extra = sys.argv[1:]
    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", "--no-binary=:all:", *extra, requirement])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session)
        found = finder.find_requirement(install_req_from_line(requirement), upgrade=False)
        if found is None:
            sys.exit(f"download_sdist: no source archive of {requirement} found")
        path, _ = Downloader(session, "off")(found.link, folder)
    print(path)


main()
