# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors
"""Runs files of SimSo, and writes beside each what came of every job: task, activation and response in cycles."""

import contextlib
import json
import os
import sys

from simso.configuration import Configuration
from simso.core import Model


def jobs(path):
    configuration = Configuration(path)
    configuration.check_all()
    model = Model(configuration)
    # Its EDF scheduler prints what it decides.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model.run_model()
    for task in model.results.tasks.values():
        for job in task.jobs:
            if job.end_date is not None:
                yield [task.task.name, job.activation_date, job.end_date]


for path in sys.argv[1:]:
    with open(path + ".jobs", "w") as out:
        json.dump(list(jobs(path)), out)
