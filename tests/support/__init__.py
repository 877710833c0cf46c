"""What the tests in Python share.  Each folder of tests has a link to this one, so that `from
support import …` works however a test is started.

  programs    the programs that a test was given, and as which user they run
  targets     start a program to look at, and wait until it is ready
  wallspy     run wallspy: a dump, a recording, or a recording that goes on meanwhile
  recording   read what wallspy wrote
  processes   what /proc says of a process, and waiting for it
  unharmed    the target was not harmed
  lock_record who had which lock when, by the program, and by wallspy
  terminal    a program in a terminal, and its keyboard
  cpu         CPUs that are taken away: spinners, and cgroups with a quota
  chance      random numbers by a seed, which is printed; how many rounds
  measure     shares that are right but for chance, and others who take the CPUs
  cases       kinds of unittest's cases
  outcome     how a test ends: passed, failed, skipped with a reason

They run on CPython 3.6 and later, as tests/python does, and import no unittest but in `cases` and
`outcome.main()`: some targets import them, too.
"""
