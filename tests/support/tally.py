"""How many cases a test tries, where it tries more than one: the table of attacks counts them."""

tried = 0


def add(cases=1):
    global tried
    tried += cases


def begin():
    global tried
    tried = 0
