"""What is around the program: this computer, cron, plugins and forges."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "Bug": (
        "Something happened that nodusctl does not expect of itself (exit code 70). The state is saved after every step, "
        "so nothing is lost; the crash report lies in your state folder and holds no secret value.",
        "Run the same command again: whatever was in flight is settled first. If it fails again, report it with the crash report.",
    ),
    "ClockWrong": (
        "This computer's clock is behind something that has already happened. Charges, deadlines and the age of locks would be wrong.",
        "Set the clock from the network, as root:\n  timedatectl set-ntp true",
    ),
    "CommentsAlike": (
        "More than one comment of the pull request bears the mark of this project and tag, by the same author. The oldest was replaced.",
        "Delete the others on the forge, so that nobody reviews an old plan. Two comments on purpose need two tags:\n"
        "  nodusctl comment post --tag TEXT",
    ),
    "CronRefused": (
        "crontab, or systemd, is there and would not do what was asked: only some users may use it, or no session of yours is running. "
        "What it said itself stands in the message.",
        "Where only some users may have a crontab, have root add yours to /etc/cron.allow, then repeat:\n  nodusctl cron install",
    ),
    "CronStopped": (
        "What would make the ticks is installed but doesn't run: no cron daemon was seen on this computer, or a timer of yours ends when "
        "you log out.",
        "Start the daemon, as root, or let your timers outlive your login:\n  service cron start\n  loginctl enable-linger",
    ),
    "DiskFull": (
        "The folder of the state or of your keys has almost no room left. Steps that can't be written down are not "
        "taken, so nothing would start.",
        "Find what takes the room and free some:\n  du -xh FOLDER | sort -h | tail",
    ),
    "DiskScarce": (
        "The folder of the state or of your keys has less than 2 GiB left.",
        "Find what takes the room and free some:\n  du -xh FOLDER | sort -h | tail",
    ),
    "ForgeBusy": (
        "GitHub or GitLab asks for fewer requests, and for a longer pause than nodusctl waits (two minutes in all). Nothing was posted.",
        "Run it again after the time in the message:\n  nodusctl comment post",
    ),
    "ForgeRefused": (
        "GitHub or GitLab answered, and not with success: it knows no such repository or pull request, or doesn't show it to this token, "
        "or found something in the request. The message has its own words.",
        "Name the repository and the number yourself, and look whether the token may read that repository:\n"
        "  nodusctl comment post --repo OWNER/NAME --number N",
    ),
    "ForgeUnauthorized": (
        "GitHub or GitLab refused the token: it has expired, belongs to another server, or may not write comments. In GitLab a job's own "
        "token (CI_JOB_TOKEN) never may.",
        "In GitHub Actions, give the job `permissions: {pull-requests: write}` and the command GITHUB_TOKEN. In GitLab, store a project "
        "access token with the scope api as the variable GITLAB_TOKEN.",
    ),
    "ForgeUnreachable": (
        "GitHub or GitLab could not be reached, or went on failing. A comment whose answer was lost is looked for before it is sent again, "
        "so there are never two.",
        "Run it again; another server than the public one is named by the forge's CI or by an option:\n"
        "  nodusctl comment post --api-url https://github.example.com/api/v3",
    ),
    "NoTicker": (
        "An object needs somebody to look after it (a window ahead, a start or stop that isn't finished, a lease that is to be renewed), "
        "and the last good tick is older than three intervals. Machines still end themselves in time; nothing else happens by itself.",
        "Let cron tick at intervals, or see how its last ticks went:\n  nodusctl cron install\n  nodusctl cron show",
    ),
    "NotWritable": (
        "A folder that nodusctl writes to can't be written by this user: the state's, or the one with your keys.",
        "Give yourself the right, or name another folder:\n  chmod u+rwx FOLDER",
    ),
    "NoticeUnsent": (
        "The command under notify in nodusctl.yaml did not take a notice: it could not be run, ended with an error, or took longer than "
        "ten seconds. The tick itself is not affected.",
        "Run the command by hand with a line of JSON on its stdin. The next tick offers what still stands again:\n  nodusctl tick",
    ),
    "OpenToOthers": (
        "A file with a key or with the state can be read by other users of this computer.",
        "Close it:\n  chmod 600 FILE",
    ),
    "OutputLost": (
        "A file or stream that words were to be written to took no more, such as on a full disk. What the command did is done and stored; "
        "only what it had to say is incomplete.",
        "Make room, then see what holds now:\n  nodusctl get ws,vol",
    ),
    "PluginBuiltIn": (
        "A wheel for a platform was asked for, and this provider ships with nodusctl: it is locked by the version of nodusctl.",
        "Nothing needs to be done.",
    ),
    "PluginCrashed": (
        "A provider plugin raised an error instead of answering. Its answer counts as one nobody got: objects of that provider wait or are "
        "blocked, nothing else is. The report named holds the traceback, without secrets.",
        "See whether the provider works at all, and send the report to the plugin's author:\n  nodusctl doctor",
    ),
    "PluginDiffers": (
        "A provider plugin is not the one that .nodus.lock.yaml has: another version, other files, files nobody installed, or a module "
        "that would come from elsewhere. It was not imported, and the command ended before it did anything. The lock is never changed by "
        "this.",
        "Install what was locked. If the change is meant, lock it on purpose and commit the file:\n  nodusctl providers lock",
    ),
    "PluginEditable": (
        "A plugin is run from its sources (an editable install), so there are no installed files to hash. Only its version is locked.",
        "For a lock that means something, install the plugin, then lock again:\n  nodusctl providers lock",
    ),
    "PluginLockUnreadable": (
        ".nodus.lock.yaml is there and can't be read, so nobody can say which plugins are meant. Nothing goes on without that.",
        "Bring the file back from version control:\n  git checkout -- .nodus.lock.yaml",
    ),
    "PluginUnlocked": (
        "The project has a provider lock, and uses a provider that is not in it. It was not imported.",
        "Lock it, and commit the file:\n  nodusctl providers lock",
    ),
    "ProgramMissing": (
        "A program that nodusctl calls is not on PATH. The message says which, and which package brings it.",
        "Install it, as root:\n  apt-get install openssh-client",
    ),
    "TrialFailed": (
        "cron has no agent, no keyring, hardly a PATH and none of your variables. Before anything is installed, one tick is made in an "
        "environment as empty as that, and it failed. Nothing was written.",
        "Mend each finding that follows the message (a key in its file, credentials in the provider's file, PATH kept), then repeat:\n"
        "  nodusctl cron install",
    ),
}
