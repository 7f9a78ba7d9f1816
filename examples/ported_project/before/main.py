from crew import Offers

if __name__ == "__main__":
    result = Offers().crew().kickoff(inputs={"customer": "Halden Grocers", "plan": "business", "seats": 120})
    for output in result.tasks_output:
        print(f"{output.agent}: {output.raw}\n")
    print("The last one is in offer.md, too.")
